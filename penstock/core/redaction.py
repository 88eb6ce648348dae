r"""Texts as they may leave the process: without the secrets in them, and without characters that a terminal obeys.

Secrets are known by where they stand (in a URL, after ``password=``, in a header) or by their shape. Of a URL the
userinfo, the query and the fragment go. Which part is the userinfo is not plain where a password holds ``@`` or ``/``:

- Text up to the last ``@`` before the first slash is userinfo.
- With a password in it (``me:...@``), all up to the last ``@`` of the URL goes, even past slashes.
- Where a colon stands before the first slash and no port of digits follows it, that begins a password too, whose ``@``
  may have been cut off. So ``s3://me:hun/ter2@bucket`` loses one, and ``hdfs://namenode:8020/a@b.parquet`` is shown as
  it is, and so is the chain ``zip://a.csv::s3://bucket/a.zip``.
- ``abfss://container@account`` and ``wasbs://`` have no userinfo but the name of a container.

A ``?`` or ``#`` begins a query or fragment of any http URL, and of others where ``name=`` follows: there it may be part
of a glob or a name.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from urllib.parse import quote, unquote

HIDDEN = "***"

# Every pattern takes time in proportion to the text: what may repeat without end either cannot fail or has one start.
_SHAPES = re.compile(
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16,}"  # AWS
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----)[\s\S])*(?:-----END [A-Z ]*-----)?"
    r"|\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_\w{22,}|\bglpat-[\w-]{20,}"  # GitHub, GitLab
    r"|\bxox[abeoprs]-[\w-]{10,}"  # Slack
    r"|(?<![\w-])eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+\.[\w-]*"  # a JSON web token
    r"|\bAIza[\w-]{35,}|\bya29\.[\w-]{20,}"  # Google
    r"|\bdapi[0-9a-f]{32,}|\bhf_[A-Za-z0-9]{30,}"  # Databricks, Hugging Face
    r"|\bsk-(?:[A-Za-z0-9]{20,}|(?:proj|ant|admin|svcacct|or)-[\w-]{20,})"  # OpenAI
    r"|\b[rs]k_(?:live|test)_\w{16,}"  # Stripe
)
_URL = re.compile(  # with one slash, which is what pathlib makes of two, only where the scheme is known
    r"(?:\b(https?|abfss?|wasbs?|s3[an]?|gc?s|az|adl|hdfs|s?ftp|memory|tcp|tls):/{1,3}|:/{2,3})(\S+)", re.IGNORECASE
)
_QUERY = re.compile(r"[?#](?=[^/?#=]+=)")
_HTTP_QUERY = re.compile(r"[?#](?=.)")
_PORT = re.compile(r"[^:]*:[0-9]{1,5}|\[[0-9a-fA-F:.]+\](?::[0-9]{1,5})?")
_NAME = re.compile(r"[\w.-]{1,20}")
_PAIR = re.compile(
    r"((?:password|passwd|pwd|passphrase|credentials?|token|secret|secret[ _-]?key|(?<![a-z])sig|signature"
    r"|(?:access|account|api|private)[ _-]?key)"
    r"(?:[\"']?\s{0,3}=(?!=)\s{0,3}|[\"']\s{0,3}:\s{0,3}))"
    r"(?!env:|\.\.\.|None\b|null\b|True\b|False\b)"
    r"(\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?|[^\s;&]*[^\s;&,.)\]}'\">])",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"(\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?)(?:[\w-]+\s{1,3})?[^\s\"',;]+"
    r"|(\bx-[a-z-]{0,40}(?:token|key|secret|signature)\s{0,3}:\s{0,3})\S+"
    r"|(\bbearer\s{1,3})(?!token\b|authent|of\b)[\w.~+/=-]{6,}",
    re.IGNORECASE,
)
_BASIC = re.compile(r"\b(Basic\s{1,3})([A-Za-z0-9+/]{4,}={0,2})")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def redact(text: str, known: Iterable[str] = ()) -> str:
    """Return a text with ``***`` in place of the secrets in it; one that is redacted already is returned as it is.

    Parameters
    ----------
    text : str
    known : iterable of str
        Texts that are secrets whatever they look like, such as a password among storage options. Of less than four
        characters they are left, since they stand in ordinary words.

    Examples
    --------
    >>> redact("cannot open s3://me:hunter2@bucket/part.parquet")
    'cannot open s3://me:***@bucket/part.parquet'
    >>> redact("https://account.blob.core.windows.net/data/a.csv?sv=2024&sig=abc%3D is gone")
    'https://account.blob.core.windows.net/data/a.csv?*** is gone'
    >>> redact("AccountName=me;AccountKey=hunter2;EndpointSuffix=core.windows.net")
    'AccountName=me;AccountKey=***;EndpointSuffix=core.windows.net'
    """
    secrets = {form for secret in known if len(secret) >= 4 for form in _forms(secret)}
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    text = _URL.sub(_redacted_url, _SHAPES.sub(HIDDEN, text))
    text = _HEADER.sub(lambda match: (match[1] or match[2] or match[3]) + HIDDEN, text)
    return _PAIR.sub(_redacted_pair, _BASIC.sub(_redacted_basic, text))


def redact_error(error: BaseException, known: Iterable[str] = ()) -> None:
    """Hide the secrets in the texts of an error and of all errors behind it, in place.

    Errors of others are causes of ours, and whoever prints a traceback prints them too.

    Examples
    --------
    >>> error = OSError("bucket/a refused hunter2, s3://me:swordfish@bucket/a")
    >>> redact_error(error, known=["hunter2"])
    >>> error
    OSError('bucket/a refused ***, s3://me:***@bucket/a')
    """
    waiting, known = [error], list(known)
    seen: set[int] = set()
    while waiting:
        error = waiting.pop()
        if id(error) not in seen:
            seen.add(id(error))
            _redact_texts(error, known)
            waiting += [other for other in (error.__cause__, error.__context__) if other is not None]


def _redact_texts(error: BaseException, known: list[str]) -> None:
    error.args = tuple(redact(value, known) if isinstance(value, str) else value for value in error.args)
    slots = ("strerror", "filename", "filename2") if isinstance(error, OSError) else ()
    for name in slots:
        if isinstance(getattr(error, name), str):
            setattr(error, name, redact(getattr(error, name), known))
    vars(error).update({name: redact(value, known) for name, value in vars(error).items() if isinstance(value, str)})


def secrets_in_url(url: str) -> list[str]:
    """Return the password of a URL, as it is written and decoded, or the token that stands as its user.

    Stores and their errors name what is in a URL without its scheme, where no rule would find them, or only the part of
    it up to a slash.

    Examples
    --------
    >>> secrets_in_url("s3://me:hun%40ter2@bucket/a"), secrets_in_url("https://hunter2@host/a")
    (['hun%40ter2', 'hun@ter2'], ['hunter2@'])
    """
    userinfos = [userinfo for match in _URL.finditer(url) for userinfo in [_split(match)[0]] if userinfo]
    passwords = [userinfo.partition(":")[2] or f"{userinfo}@" for userinfo in userinfos]
    pieces = [piece for userinfo in userinfos for piece in re.split("[/@]", userinfo.partition(":")[2]) if piece]
    return list(dict.fromkeys(form for text in (*passwords, *pieces) for form in (text, unquote(text))))


def _forms(secret: str) -> tuple[str, ...]:
    return secret, quote(secret, safe=""), visible(secret)


def holds_secret(text: str) -> bool:
    """Return whether a text has a secret in it for certain: a password or a known shape, not just any query of a URL.

    Examples
    --------
    >>> [holds_secret(text) for text in ("s3://me:hunter2@b", "https://host/a.csv?page=2", "hdfs://me@namenode/a")]
    [True, False, False]
    """
    has_password = any(":" in _split(match)[0] for match in _URL.finditer(text))
    return has_password or bool(_SHAPES.search(text) or _PAIR.search(text))


def visible(text: str, keep: str = "") -> str:
    r"""Return a text with the characters that a terminal obeys, or that turn others around, written as escapes.

    Parameters
    ----------
    text : str
    keep : str
        Characters that stay: a newline, where the text is meant to have lines.

    Examples
    --------
    >>> print(visible("\x1b[31mred"), visible("a\nb"), visible("a\nb", keep="\n"))
    \x1b[31mred a\nb a
    b
    """
    return _CONTROLS.sub(lambda match: match[0] if match[0] in keep else ascii(match[0])[1:-1], text)


def presentable(text: str, keep: str = "", known: Iterable[str] = ()) -> str:
    r"""Return a text as it may be shown to anyone: visible and redacted.

    Examples
    --------
    >>> print(presentable("no column '\x1b[2J' in s3://me:hunter2@bucket/a"))
    no column '\x1b[2J' in s3://me:***@bucket/a
    """
    return redact(visible(text, keep), known)  # in this order, since an escape that follows a URL would extend it


def _redacted_url(match: re.Match[str]) -> str:
    bare = _bare(match)
    query = _HTTP_QUERY if re.search("https?:/", match[0], re.IGNORECASE) else _QUERY
    userinfo, rest = _split(match)
    if userinfo:
        # What follows an "@" inside a query belongs to the query, and goes with it.
        rest = _redacted_userinfo(userinfo) + ("" if query.search(userinfo) or not rest else f"@{rest}")
    begin = query.search(rest)
    shown = rest if begin is None else rest[: begin.end()] + HIDDEN
    return match[0][: -len(match[2])] + shown + match[2][len(bare) :]


def _redacted_userinfo(userinfo: str) -> str:
    name, _, password = userinfo.partition(":")
    return f"{name}:{HIDDEN}" if password and _NAME.fullmatch(name) else HIDDEN


def _split(match: re.Match[str]) -> tuple[str, str]:
    """Return the userinfo of a URL, by the rules above, and what follows its ``@``; no userinfo is an empty text."""
    bare = _bare(match)
    authority = re.split("[/?#]", bare, maxsplit=1)[0]
    before, at, _ = authority.rpartition("@")
    if ":" in before or (not at and _begins_password(authority, bare)):
        userinfo, at, rest = bare.rpartition("@")
        return (userinfo, rest) if at else (bare, "")
    names_container = (match[1] or "").lower().startswith(("abfs", "wasb"))
    return ("", bare) if names_container or not before else (before, bare[len(before) + 1 :])


def _begins_password(authority: str, url: str) -> bool:
    return ":" in authority and not _PORT.fullmatch(authority) and ("@" in url or "::" not in authority)


def _bare(match: re.Match[str]) -> str:
    """Return a URL, from after its slashes, without the punctuation of the sentence that it stands in."""
    return match[2].rstrip("\"'`),;.:]}>")


def _redacted_pair(match: re.Match[str]) -> str:
    mark = match[2][0] if match[2][0] in "\"'" else ""
    closed = mark if len(match[2]) > 1 and match[2].endswith(mark) else ""
    return f"{match[1]}{mark}{HIDDEN}{closed}"


def _redacted_basic(match: re.Match[str]) -> str:
    """Hide what follows the word Basic where it is base64 of a name and a password; it is a word of English too."""
    try:
        decoded = base64.b64decode(match[2], validate=True)
    except binascii.Error:
        return match[0]
    return match[1] + HIDDEN if b":" in decoded else match[0]
