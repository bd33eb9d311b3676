"""A registry gives back what was published, and other tools read it, too; what other tools publish is read."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import InstallError, SkillNotFoundError
from prowess.install.sources import digest_of
from prowess.install.sources.oci._registry import Descriptor, Registry as Repository
from prowess.lock import read_tree
from support.archives import tar_gz
from support.growth import END
from support.programs import require
from support.registry import Registry, digest_of_tag, log_in, start_token_registry
from support.sources import fetch, publish as publish_to

if TYPE_CHECKING:
    from prowess.install import OpenStore
    from prowess.install._publish import Published
    from prowess.install.sources import Fetched

SKILL = "---\nname: {name}\ndescription: Reads PDFs\nlicense: MIT\nmetadata:\n  version: '1.2'\n---\nRead.\n"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "pdf"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL.format(name="pdf"), encoding="utf-8")
    (folder / "scripts/read.py").write_text("print('é')\n", encoding="utf-8")
    (folder / "scripts/read.py").chmod(0o755)
    return folder


def publish(folder: Path, place: str, *tags: str, **options: Any) -> Published:
    return publish_to(folder, f"oci://{place}", *tags, **options)


def pull(place: str, opened: OpenStore, **options: Any) -> Fetched:
    return fetch(f"oci://{place}", opened, **options)


def push(place: str, layers: list[tuple[str, bytes, dict[str, str]]], tag: str = "latest", **more: Any) -> str:
    """Push a manifest as another tool does; return its digest."""
    registry, _, name = place.partition("/")
    with Repository(registry, name, push=True, env={}) as repository:
        descriptors = []
        for kind, data, annotations in [("application/vnd.oci.image.config.v1+json", b"{}", {}), *layers]:
            if not repository.has_blob(digest_of(data)):
                repository.write_blob(data, digest_of(data))
            found: dict[str, Any] = {"mediaType": kind, "digest": digest_of(data), "size": len(data)}
            descriptors.append({**found, "annotations": annotations} if annotations else found)
        content = {"schemaVersion": 2, "mediaType": MANIFEST, "config": descriptors[0], "layers": descriptors[1:]}
        manifest = json.dumps({**content, **more}).encode()
        repository.write_manifest(tag, manifest, MANIFEST)
    return digest_of(manifest)


# ── what we publish ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_was_published_is_fetched_again(registry: Registry, skill: Path, opened: OpenStore) -> None:
    """Byte by byte, and with the same modes."""
    place = registry.new_repository()
    published = publish(skill, place)
    assert (published.tags, published.state) == (("1.2",), "new")
    for reference in (f"{place}:1.2", published.reference.removeprefix("oci://")):
        fetched = pull(reference, opened)
        assert [(found.name, found.path) for found in fetched.skills] == [("pdf", "pdf")]
        assert read_tree(fetched.skills[0].folder) == read_tree(str(skill))
        assert fetched.revision == published.digest


def test_a_revision_is_fetched_whatever_its_tag_is_now(registry: Registry, skill: Path, opened: OpenStore) -> None:
    place = registry.new_repository()
    first = publish(skill, f"{place}:v1")
    before = read_tree(str(skill))
    (skill / "new.md").write_text("new", encoding="utf-8")
    assert publish(skill, f"{place}:v1", force=True).state == "moved"
    assert read_tree(pull(f"{place}:v1", opened, revision=first.digest).skills[0].folder) == before
    assert read_tree(pull(f"{place}:v1", opened).skills[0].folder) == read_tree(str(skill))


def test_the_same_skill_is_not_published_twice(registry: Registry, skill: Path) -> None:
    place = registry.new_repository()
    first = publish(skill, place, "a", "b")
    again = publish(skill, place, "a", "b")
    assert (first.state, again.state, first.digest == again.digest) == ("new", "unchanged", True)


def test_a_tag_with_another_content_is_not_moved_without_consent(registry: Registry, skill: Path) -> None:
    place = registry.new_repository()
    first = publish(skill, place, "v1")
    (skill / "new.md").write_text("new", encoding="utf-8")
    with pytest.raises(InstallError, match=r"the tag `v1` of .* has another content"):
        publish(skill, place, "v2", "v1")
    assert digest_of_tag(f"{place}:v1") == first.digest
    assert digest_of_tag(f"{place}:v2") is None


@pytest.mark.parametrize("tag", ["", ".x", "-x", "a b", "a/b", "ä", "a\n", "x" * 129, "../v1", "a?b", "%2e"])
def test_a_tag_is_checked_before_anything_is_sent(tag: str, skill: Path) -> None:
    with pytest.raises(InstallError, match="invalid tag"):
        publish(skill, "127.0.0.1:1/x", tag)


def test_a_dry_run_sends_nothing_and_knows_the_digest(registry: Registry, skill: Path) -> None:
    place = registry.new_repository()
    planned = publish(skill, place, dry_run=True)
    assert planned.state == "planned"
    assert digest_of_tag(f"{place}:1.2") is None
    assert publish(skill, place).digest == planned.digest


def test_the_manifest_is_of_the_field_and_the_same_everywhere(registry: Registry, skill: Path) -> None:
    """As the proposed specification of skills in registries has it; without a date."""
    place = registry.new_repository()
    published = publish(skill, place)
    host, _, name = place.partition("/")
    with Repository(host, name, env={}) as repository:
        stored = repository.manifest("1.2")
    assert stored is not None
    manifest = json.loads(stored.data)
    assert manifest["artifactType"] == "application/vnd.agentskills.skill.v1"
    assert manifest["config"]["mediaType"] == "application/vnd.agentskills.skill.config.v1+json"
    assert [layer["mediaType"] for layer in manifest["layers"]] == [
        "application/vnd.agentskills.skill.content.v1.tar+gzip"
    ]
    assert manifest["annotations"] == {
        "io.agentskills.skill.name": "pdf",
        "org.opencontainers.image.title": "pdf",
        "org.opencontainers.image.version": "1.2",
        "org.opencontainers.image.description": "Reads PDFs",
        "org.opencontainers.image.licenses": "MIT",
    }
    for path in skill.rglob("*"):
        os.utime(path, (1, 1))
    assert publish(skill, registry.new_repository()).digest == published.digest


# ── other tools ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_skopeo_copies_what_was_published_and_copies_it_back(
    registry: Registry, skill: Path, opened: OpenStore, tmp_path: Path
) -> None:
    require("skopeo")
    place, copied = registry.new_repository(), registry.new_repository()
    published = publish(skill, f"{place}:v1")
    layout = tmp_path / "layout"
    skopeo = ["skopeo", "--insecure-policy", "copy", "--all", "--preserve-digests"]

    def run(*arguments: str) -> None:
        subprocess.run([*skopeo, *arguments], check=True, capture_output=True, timeout=END)

    run("--src-tls-verify=false", f"docker://{place}:v1", f"oci:{layout}:v1")
    index = json.loads((layout / "index.json").read_text(encoding="utf-8"))
    assert index["manifests"][0]["digest"] == published.digest
    run("--dest-tls-verify=false", f"oci:{layout}:v1", f"docker://{copied}:v1")
    fetched = pull(f"{copied}:v1", opened)
    assert fetched.revision == published.digest
    assert read_tree(fetched.skills[0].folder) == read_tree(str(skill))


@pytest.mark.slow
def test_oras_pulls_what_was_published(registry: Registry, skill: Path, tmp_path: Path) -> None:
    oras = pytest.importorskip("oras.client")
    place = registry.new_repository()
    publish(skill, f"{place}:v1")
    files = oras.OrasClient(insecure=True).pull(target=f"{place}:v1", outdir=str(tmp_path / "pulled"))
    assert [Path(file).name for file in files] == ["pdf.tar.gz"]
    with tarfile.open(files[0]) as tar:
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # since Python 3.11.4
        tar.extractall(tmp_path / "unpacked", **safely)  # type: ignore[arg-type]  # noqa: S202 - it was published above
    assert read_tree(str(tmp_path / "unpacked/pdf")) == read_tree(str(skill))


def test_what_oras_pushes_is_fetched(
    registry: Registry, skill: Path, opened: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its layers are a file each; this one keeps neither folders nor modes."""
    oras = pytest.importorskip("oras.client")
    place = registry.new_repository()
    monkeypatch.chdir(skill)
    oras.OrasClient(insecure=True).push(target=f"{place}:v1", files=["SKILL.md", "scripts/read.py"])
    fetched = pull(f"{place}:v1", opened)
    assert [(found.name, found.path) for found in fetched.skills] == [("pdf", "")]
    contents = {name: Path(fetched.skills[0].folder, name).read_bytes() for name in ("SKILL.md", "read.py")}
    assert contents == {
        "SKILL.md": (skill / "SKILL.md").read_bytes(),
        "read.py": (skill / "scripts/read.py").read_bytes(),
    }


def test_layers_that_are_files_are_put_into_their_folders(registry: Registry, skill: Path, opened: OpenStore) -> None:
    place = registry.new_repository()
    (skill / "scripts/read.py").chmod(0o644)
    title = "org.opencontainers.image.title"
    paths = [path for path in skill.rglob("*") if path.is_file()]
    push(place, [("text/plain", path.read_bytes(), {title: str(path.relative_to(skill))}) for path in paths])
    assert read_tree(pull(place, opened).skills[0].folder) == read_tree(str(skill))


def test_a_folder_that_oras_pushes_is_fetched(
    registry: Registry, skill: Path, opened: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    oras = pytest.importorskip("oras.client")
    place = registry.new_repository()
    monkeypatch.chdir(skill.parent)
    oras.OrasClient(insecure=True).push(target=f"{place}:v1", files=["pdf"])
    fetched = pull(f"{place}:v1", opened)
    assert [found.name for found in fetched.skills] == ["pdf"]
    assert read_tree(fetched.skills[0].folder) == read_tree(str(skill))


def test_an_image_with_the_files_of_a_skill_is_fetched(registry: Registry, skill: Path, opened: OpenStore) -> None:
    """As `FROM scratch` and two `COPY` make it: the skill is the root of the image."""
    place = registry.new_repository()
    text, script = (skill / "SKILL.md").read_bytes(), (skill / "scripts/read.py").read_bytes()
    layers: list[tuple[str, bytes, dict[str, str]]]
    layers = [(LAYER, tar_gz({"SKILL.md": text}), {}), (LAYER, tar_gz({"scripts/read.py": script}), {})]
    digest = push(place, layers)
    fetched = pull(place, opened)
    assert (fetched.revision, [(found.name, found.path) for found in fetched.skills]) == (digest, [("pdf", "")])
    (skill / "scripts/read.py").chmod(0o644)
    assert read_tree(fetched.skills[0].folder) == read_tree(str(skill))


@pytest.mark.parametrize(
    "kind",
    [
        "application/vnd.agent.skill.content.v1.tar+gzip",
        "application/vnd.docker.image.rootfs.diff.tar.gzip",
        "application/vnd.oci.image.layer.v1.tar",
    ],
)
def test_layers_of_other_types_are_read(kind: str, registry: Registry, opened: OpenStore) -> None:
    place = registry.new_repository()
    data = tar_gz({"pdf/SKILL.md": SKILL.format(name="pdf").encode()})
    push(place, [(kind, gzip.decompress(data) if kind.endswith("tar") else data, {})])
    assert [found.name for found in pull(place, opened).skills] == ["pdf"]


def push_index(place: str, entries: list[dict[str, Any]]) -> str:
    registry, _, name = place.partition("/")
    kind = "application/vnd.oci.image.index.v1+json"
    index = json.dumps({"schemaVersion": 2, "mediaType": kind, "manifests": entries}).encode()
    with Repository(registry, name, push=True, env={}) as repository:
        repository.write_manifest("latest", index, kind)
    return digest_of(index)


def entry(place: str, name: str, **more: Any) -> dict[str, Any]:
    layer = tar_gz({f"{name}/SKILL.md": SKILL.format(name=name).encode()})
    digest = push(place, [(LAYER, layer, {})], name)
    registry, _, repository_name = place.partition("/")
    with Repository(registry, repository_name, env={}) as repository:
        stored = repository.manifest(name)
    assert stored is not None
    return {"mediaType": MANIFEST, "digest": digest, "size": len(stored.data), **more}


def test_the_manifests_of_skills_are_chosen_in_an_index(registry: Registry, opened: OpenStore) -> None:
    """A collection has several; the index may also have images of programs."""
    place = registry.new_repository()
    ours = {"artifactType": "application/vnd.agentskills.skill.v1"}
    named = [{**ours, "annotations": {"io.agentskills.skill.name": name}} for name in ("pdf", "csv")]
    image = entry(place, "image", platform={"os": "linux", "architecture": "amd64"})
    digest = push_index(place, [image, entry(place, "pdf", **named[0]), entry(place, "csv", **named[1])])
    fetched = pull(place, opened)
    assert (sorted(found.name for found in fetched.skills), fetched.revision) == (["csv", "pdf"], digest)
    assert [found.name for found in pull(place, opened, only=("csv",)).skills] == ["csv"]
    with pytest.raises(SkillNotFoundError, match="has no skill `doc`"):
        pull(place, opened, only=("doc",))


def test_one_platform_is_chosen_in_the_index_of_an_image(registry: Registry, opened: OpenStore) -> None:
    place = registry.new_repository()
    about = {"annotations": {"vnd.docker.reference.type": "attestation-manifest"}}
    entries = [
        entry(place, "about", **about, platform={"os": "unknown", "architecture": "unknown"}),
        entry(place, "arm", platform={"os": "linux", "architecture": "arm64"}),
        entry(place, "amd", platform={"os": "linux", "architecture": "amd64"}),
    ]
    push_index(place, entries)
    assert [found.name for found in pull(place, opened).skills] == ["amd"]


# ── credentials ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_private_registry_needs_the_credentials_of_container_tools(
    private_registry: Registry, skill: Path, opened: OpenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = private_registry.new_repository()
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(tmp_path / "missing.json"))
    with pytest.raises(InstallError, match="gives no access") as caught:
        publish(skill, place)
    assert f"docker login {private_registry.host}" in str(caught.value.hint)
    log_in(monkeypatch, tmp_path, private_registry)
    published = publish(skill, place)
    assert pull(f"{place}:1.2", opened).revision == published.digest


def test_a_registry_with_tokens_gives_them_for_what_is_done(
    skill: Path, opened: OpenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everyone may read, and only a user may publish."""
    require("docker-registry")
    pytest.importorskip("cryptography")
    with start_token_registry() as registry:
        place = registry.new_repository()
        monkeypatch.setenv("REGISTRY_AUTH_FILE", str(tmp_path / "missing.json"))
        with pytest.raises(InstallError, match="gives no access"):
            publish(skill, place)
        log_in(monkeypatch, tmp_path, registry)
        with pytest.raises(InstallError, match="not known as its server of tokens") as caught:
            publish(skill, place)
        variable, _, value = str(caught.value.hint).partition(", set ")[2].partition("=")
        monkeypatch.setenv(variable, value)
        published = publish(skill, place)
        monkeypatch.setenv("REGISTRY_AUTH_FILE", str(tmp_path / "missing.json"))
        assert pull(f"{place}:1.2", opened).revision == published.digest


def test_a_wrong_password_is_refused_and_not_shown(
    private_registry: Registry, skill: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_in(monkeypatch, tmp_path, private_registry, "wrong-password")
    with pytest.raises(InstallError, match="gives no access") as caught:
        publish(skill, private_registry.new_repository())
    assert "wrong" not in f"{caught.value} {caught.value.hint}"


def test_a_blob_is_compared_with_its_digest_and_size(registry: Registry, tmp_path: Path) -> None:
    host, _, name = registry.new_repository().partition("/")
    data = b"x" * 100
    with Repository(host, name, push=True, env={}) as repository:
        repository.write_blob(data, digest_of(data))
        for size in (99, 101):
            file = os.open(tmp_path / str(size), os.O_RDWR | os.O_CREAT)
            with pytest.raises(InstallError, match=r"it sent more than 99 bytes|sent other bytes"):
                repository.read_blob(Descriptor(media_type="x", digest=digest_of(data), size=size), file)
            os.close(file)
    assert digest_of(data) == f"sha256:{hashlib.sha256(data).hexdigest()}"
