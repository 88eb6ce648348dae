"""Conditional writes of the stores that have them: by the ETag or the generation of an object."""

from __future__ import annotations

import mimetypes
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from fsspec import asyn

_FAILED_PRECONDITION = 412


@dataclass(frozen=True)
class Versioned:
    """The content of an object, and what tells this version of it from all others."""

    content: bytes
    version: str


class ConditionalWrites(ABC):
    """Reads, replaces and removes single objects of one fsspec file system; errors are those of the file system.

    Parameters
    ----------
    filesystem : fsspec.AbstractFileSystem
    """

    def __init__(self, filesystem: Any) -> None:
        self._filesystem = filesystem

    @abstractmethod
    def read(self, path: str) -> Versioned | None:
        """Return an object as it is now; None where there is none."""

    @abstractmethod
    def put(self, path: str, content: bytes, version: str | None) -> bool:
        """Write an object if `version` is what is there, None for nothing; return whether it was."""

    @abstractmethod
    def remove(self, path: str, version: str) -> bool:
        """Remove an object if `version` is what is there; return whether it was."""


def is_met(write: Callable[[], object], *, exists: bool) -> bool:
    """Return whether the condition of a write was met; an object that is gone meets none that says `exists`."""
    try:
        write()
    except FileExistsError:
        return False
    except Exception as error:
        if status_of(error) == _FAILED_PRECONDITION or (exists and isinstance(error, FileNotFoundError)):
            return False
        if status_of(error) == 409 and type(error).__name__ == "ResourceExistsError":  # Azure's word for a blob there
            return False
        raise
    return True


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status behind an error of s3fs, gcsfs or adlfs."""
    response = getattr(error.__cause__ or error, "response", None)
    if isinstance(response, dict):
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        return int(status) if status is not None else None
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    return int(status) if isinstance(status, int | str) and str(status).isdigit() else None


class S3Writes(ConditionalWrites):
    """S3, and what speaks its protocol: If-Match and If-None-Match, by ETags."""

    def read(self, path: str) -> Versioned | None:
        try:
            answer = self._call("get_object", path)
        except FileNotFoundError:
            return None
        return Versioned(asyn.sync(self._filesystem.loop, answer["Body"].read), answer["ETag"])

    def put(self, path: str, content: bytes, version: str | None) -> bool:
        condition = {"IfNoneMatch": "*"} if version is None else {"IfMatch": version}
        kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
        return is_met(
            lambda: self._filesystem.pipe_file(path, content, ContentType=kind, **condition), exists=version is not None
        )

    def remove(self, path: str, version: str) -> bool:
        met = is_met(lambda: self._call("delete_object", path, IfMatch=version), exists=True)
        self._filesystem.invalidate_cache()
        return met

    def _call(self, method: str, path: str, **options: str) -> Any:
        bucket, key, _ = self._filesystem.split_path(path)
        return self._filesystem.call_s3(method, Bucket=bucket, Key=key, **options)


class GoogleWrites(ConditionalWrites):
    """Google Cloud Storage: preconditions on the generation of an object."""

    def read(self, path: str) -> Versioned | None:
        try:
            headers, content = self._filesystem.call("GET", self._filesystem.url(path))
        except FileNotFoundError:
            return None
        return Versioned(content, headers["X-Goog-Generation"])

    def put(self, path: str, content: bytes, version: str | None) -> bool:
        bucket, key, _ = self._filesystem.split_path(path)
        url = f"{self._filesystem._location}/upload/storage/v1/b/{quote(bucket)}/o"
        kind = mimetypes.guess_type(path)[0] or "application/octet-stream"

        def upload() -> None:
            self._filesystem.call(
                "POST",
                url,
                uploadType="media",
                name=key,
                ifGenerationMatch=version or "0",
                headers={"Content-Type": kind},
                data=content,
            )

        return is_met(upload, exists=version is not None)

    def remove(self, path: str, version: str) -> bool:
        bucket, key, _ = self._filesystem.split_path(path)
        return is_met(
            lambda: self._filesystem.call("DELETE", "b/{}/o/{}", bucket, key, ifGenerationMatch=version), exists=True
        )


class AzureWrites(ConditionalWrites):
    """Azure Blob Storage and Data Lake: If-Match and If-None-Match, by ETags."""

    def read(self, path: str) -> Versioned | None:
        async def download() -> Versioned:
            async with self._blob(path) as blob:
                stream = await blob.download_blob()
                return Versioned(await stream.readall(), stream.properties.etag)

        try:
            found: Versioned = asyn.sync(self._filesystem.loop, download)
        except Exception as error:
            if status_of(error) == 404:
                return None
            raise
        return found

    def put(self, path: str, content: bytes, version: str | None) -> bool:
        async def upload() -> None:
            async with self._blob(path) as blob:
                await blob.upload_blob(content, overwrite=version is not None, **_if_unmodified(version))

        return is_met(lambda: asyn.sync(self._filesystem.loop, upload), exists=version is not None)

    def remove(self, path: str, version: str) -> bool:
        async def delete() -> None:
            async with self._blob(path) as blob:
                await blob.delete_blob(**_if_unmodified(version))

        return is_met(lambda: asyn.sync(self._filesystem.loop, delete), exists=True)

    def _blob(self, path: str) -> Any:
        container, name, *_ = self._filesystem.split_path(path)
        return self._filesystem.service_client.get_blob_client(container, name)


def _if_unmodified(version: str | None) -> dict[str, Any]:
    if version is None:
        return {}
    from azure.core import MatchConditions

    return {"etag": version, "match_condition": MatchConditions.IfNotModified}
