"""Credentials of a store in the words of the libraries that read logs; users give them once, in those of fsspec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# What s3fs, gcsfs and adlfs call an option, what the object store of Delta calls it, and what Iceberg's does.
_NAMES = (
    ("key", "aws_access_key_id", "s3.access-key-id"),
    ("secret", "aws_secret_access_key", "s3.secret-access-key"),
    ("endpoint_url", "aws_endpoint_url", "s3.endpoint"),
    ("region_name", "aws_region", "s3.region"),
    ("anon", "aws_skip_signature", "s3.anonymous"),
    ("account_name", "azure_storage_account_name", "adls.account-name"),
    ("account_key", "azure_storage_account_key", "adls.account-key"),
    ("sas_token", "azure_storage_sas_token", "adls.sas-token"),
    ("tenant_id", "azure_storage_tenant_id", "adls.tenant-id"),
    ("client_id", "azure_storage_client_id", "adls.client-id"),
    ("client_secret", "azure_storage_client_secret", "adls.client-secret"),
    ("connection_string", None, "adls.connection-string"),
)


def object_store_options(path: str, options: Mapping[str, Any]) -> dict[str, str] | None:
    """Return fsspec's options of the store of a path in the words of deltalake; others are passed as they are.

    Examples
    --------
    >>> object_store_options("s3://b/t", {"key": "me", "client_kwargs": {"endpoint_url": "http://127.0.0.1:5000"}})
    {'aws_access_key_id': 'me', 'aws_endpoint_url': 'http://127.0.0.1:5000', 'aws_allow_http': 'true'}
    """
    known = {fsspec: name for fsspec, name, _ in _NAMES if name} | {"token": _token(path, "aws_session_token")}
    renamed = _renamed(options, known)
    if renamed.get("aws_endpoint_url", "").startswith("http://"):
        renamed["aws_allow_http"] = "true"
    return renamed or None


def file_io_properties(path: str, options: Mapping[str, Any]) -> dict[str, str]:
    """Return fsspec's options of the store of a path in the words of pyiceberg; others are passed as they are.

    Examples
    --------
    >>> file_io_properties("s3://b/t", {"secret": "hunter2", "s3.region": "eu-west-1"})
    {'s3.secret-access-key': 'hunter2', 's3.region': 'eu-west-1'}
    """
    known = {fsspec: name for fsspec, _, name in _NAMES} | {
        "token": _token(path, "s3.session-token", "gcs.oauth2.token")
    }
    return _renamed(options, known)


def _token(path: str, of_s3: str, of_gcs: str = "google_service_account") -> str:
    return of_gcs if path.startswith(("gs://", "gcs://")) else of_s3


def _renamed(options: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, str]:
    renamed: dict[str, str] = {}
    for name, value in options.items():
        if name in ("client_kwargs", "config_kwargs") and isinstance(value, Mapping):
            renamed |= _renamed(value, known)
        elif value is not None and not isinstance(value, Mapping):
            renamed[known.get(name, name)] = str(value).lower() if isinstance(value, bool) else str(value)
    return renamed
