"""What texts lose before they leave: secrets, and characters that a terminal obeys."""

import base64
import time
from itertools import permutations, product

import pytest

from penstock.core.redaction import holds_secret, presentable, redact, visible

SECRETS = {
    "password": ("s3://me:hunter2@bucket/a.parquet", "s3://me:***@bucket/a.parquet"),
    "password with @": ("s3://me:hun@ter2@bucket/a", "s3://me:***@bucket/a"),
    "password with /": ("s3://me:hun/ter2@bucket/a", "s3://me:***@bucket/a"),
    "password with :": ("s3://me:hun:ter2@bucket/a", "s3://me:***@bucket/a"),
    "password with ? and #": ("s3://me:hun?t#er2@bucket/a", "s3://me:***@bucket/a"),
    "password with @ and /": ("ftp://me:hun@t/er2@host/a", "ftp://me:***@host/a"),
    "password cut off": ("s3://me:hunter2hunt...", "s3://me:***..."),
    "URL that lost a slash": ("s3:/me:hun/te@r2@bucket/a", "s3:/me:***@bucket/a"),
    "query of a URL that lost a slash": ("a/https:/host/a?sig=hunter2&hunter2", "a/https:/host/a?***"),
    "address": ("tcp://me:hunter2@10.0.0.7:8786", "tcp://me:***@10.0.0.7:8786"),
    "token as user": ("https://hunter2@host/a@b", "https://***@host/a@b"),
    "token as user of no password": ("https://hunter2:@host/a", "https://***@host/a"),
    "long token as user": (f"https://{'hunter2' * 5}:x-oauth-basic@host/a", "https://***@host/a"),
    "signature of Azure": ("https://h/a.csv?sv=2024&sig=hunter2%3D", "https://h/a.csv?***"),
    "signature of AWS": ("https://b.s3.amazonaws.com/a?X-Amz-Signature=hunter2", "https://b.s3.amazonaws.com/a?***"),
    "signature of Google": ("gs://b/a?X-Goog-Signature=hunter2", "gs://b/a?***"),
    "token as query": ("https://h/a?hunter2", "https://h/a?***"),
    "@ in a query": ("https://me:x@h/a?mail=a@b&sig=hunter2", "https://me:***"),
    "fragment": ("https://h/a#access_token=hunter2", "https://h/a#***"),
    "chain": ("zip://a.csv::https://h/a.zip?sig=hunter2", "zip://a.csv::https://h/a.zip?***"),
    "quoted": ("cannot open 'https://h/a?sig=hunter2'.", "cannot open 'https://h/a?***'."),
    "account key": ("AccountName=me;AccountKey=hunter2==;Suffix=x", "AccountName=me;AccountKey=***;Suffix=x"),
    "shared access": ("SharedAccessSignature=sr=hunter2;Version=1", "SharedAccessSignature=***;Version=1"),
    "key and value": ("host=db password=hunter2 port=5", "host=db password=*** port=5"),
    "keyword": ("connect(host='db', passwd='hunter 2\\' hunter2')", "connect(host='db', passwd='***')"),
    "mapping": ("{'secret': 'hunter2', 'key': 5}", "{'secret': '***', 'key': 5}"),
    "environment": ("AWS_SECRET_ACCESS_KEY=hunter2", "AWS_SECRET_ACCESS_KEY=***"),
    "bearer": ("refused Bearer hunter2 today", "refused Bearer *** today"),
    "basic": (f"Basic {base64.b64encode(b'me:hunter2').decode()}", "Basic ***"),
    "authorization": ("{'Authorization': 'Token hunter2'}", "{'Authorization': '***'}"),
    "header": ("x-amz-security-token: hunter2", "x-amz-security-token: ***"),
}
SHAPES = {
    "AWS": "AKIAABCDEFGHIJKLMNOP",
    "AWS for a session": "ASIAABCDEFGHIJKLMNOP",
    "GitHub": "ghp_" + "a1" * 18,
    "GitHub, fine-grained": "github_pat_" + "a1B_" * 20,
    "GitLab": "glpat-" + "a1B-_" * 4,
    "Slack": "xoxb-1234567890-abcdefghij",
    "JSON web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9",
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4\n\nMIIEow+/=\n-----END RSA PRIVATE KEY-----",
    "private key cut off": "-----BEGIN PRIVATE KEY-----\nMIIEow",
    "Google": "AIza" + "aB1-_" * 7,
    "Databricks": "dapi" + "0123456789abcdef" * 2,
    "Hugging Face": "hf_" + "aB1" * 11,
    "OpenAI": "sk-" + "aB1" * 16,
    "OpenAI, of a project": "sk-proj-" + "aB1_-" * 10,
}
ORDINARY = [
    "column 'x' of s3://bucket/a.parquet is null for 3 rows",
    "s3://bucket/me@corp/a@b.parquet",
    "hdfs://namenode:8020/user/me@corp/a.parquet and http://[::1]:9000/a@b",
    "abfss://container@account.dfs.core.windows.net/a@b.parquet",
    "zip://a.csv::s3://bucket/a.zip",
    "s3://bucket/part-?.parquet, s3://bucket/day-?/year=2020/a#1.parquet",
    "the value 'me@example.org' at 12:30, key=5/part=7",
    "secret == 'x', token=None, password=env:NAME, --set password=...: not known",
    "Basic statistics of the bearer of a task-aaaaaaaaaaaaaaaaaaaaaaaa",
    "PATH=/a:/b:/c@d, file:///tmp/a@b and a scheduler at tcp://127.0.0.1:8786",
    "sha256:" + "0123456789abcdef" * 4,
]
HOSTILE = [
    "s3://", "://a:", "s3://a:@", ":/a:", "https://?#a=", "?a", "-eyJa", "eyJaaaaaaaaa.", "password=", 'password="',
    "-----BEGIN PRIVATE KEY-----", "token=)", "x-", "Bearer ", "Basic a", "sk-ab-", "authorization: ", " '\"\\",
]  # fmt: skip


def test_a_secret_is_hidden_and_the_rest_is_readable(subtests: pytest.Subtests) -> None:
    for name, (text, expected) in SECRETS.items():
        with subtests.test(name):
            assert redact(text) == expected
            assert redact(expected) == expected


def test_a_known_shape_is_hidden_whole(subtests: pytest.Subtests) -> None:
    for name, shape in SHAPES.items():
        with subtests.test(name):
            assert holds_secret(shape)
            assert redact(shape) == "***"
            if "BEGIN PRIVATE" not in shape:
                assert redact(f"refused {shape} today") == "refused *** today"


def test_ordinary_text_stays() -> None:
    for text in ORDINARY:
        assert redact(text) == text
        assert not holds_secret(text)


def test_known_secrets_are_hidden_whatever_they_look_like() -> None:
    assert redact("no: a/b c (a%2Fb%20c)", known=["a/b c"]) == "no: *** (***)"
    assert redact("a cat sat", known=["at", ""]) == "a cat sat"


@pytest.mark.thorough
def test_what_is_redacted_stays_as_it_is() -> None:
    texts = [*(text for text, _ in SECRETS.values()), *SHAPES.values(), *ORDINARY]
    for between, pair in product(" =", permutations(texts, 2)):
        text = presentable(between.join(pair))
        assert presentable(text) == text


@pytest.mark.thorough
def test_time_is_in_proportion_to_the_text(subtests: pytest.Subtests) -> None:
    for part in HOSTILE:
        with subtests.test(part):  # 256 times as long, were it to the square; a busy machine may take a few tries
            assert any(_seconds(part, 32_000) < 6 * 16 * _seconds(part, 2_000) for _ in range(20))


def _seconds(part: str, size: int) -> float:
    text, began = (part * size)[:size], time.process_time()
    redact(text)
    holds_secret(text)
    return time.process_time() - began


def test_what_a_terminal_obeys_is_shown_as_escapes() -> None:
    hostile = "\x1b[31mred\r\x07\x7f\x9b2J\u202eabc\u2066\u2028"
    assert visible(hostile) == r"\x1b[31mred\r\x07\x7f\x9b2J\u202eabc\u2066\u2028"
    assert visible("größe 東京 \U0001f600 a\\b") == "größe 東京 \U0001f600 a\\b"
    assert visible("a\nb\x1b", keep="\n") == "a\nb\\x1b"
