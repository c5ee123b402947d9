"""Packs built functions in the form Lambda needs, and writes the template that refers to them.

The zips are identical for identical binaries, so that a deployment without a change changes nothing.
"""

import pathlib
import re
import sys
import zipfile

# The version in Amazon Linux 2023.
NEWEST_GLIBC = (2, 34)


def main(arch, built, functions):
    folder = pathlib.Path("target/lambda") / arch
    template = pathlib.Path("infra/template.yaml").read_text()
    for function in functions:
        binary = pathlib.Path(built % function).read_bytes()
        wanted = newest_glibc(binary)
        if wanted > NEWEST_GLIBC:
            sys.exit(
                f"make build: {function} needs glibc {wanted[0]}.{wanted[1]}, and Lambda has 2.34: "
                "build on an older system"
            )
        bootstrap = folder / function / "bootstrap"
        bootstrap.parent.mkdir(parents=True, exist_ok=True)
        bootstrap.write_bytes(binary)
        bootstrap.chmod(0o755)
        pack(binary, folder / f"{function}.zip")
        template, found = re.subn(
            rf"CodeUri: \.\./functions/{function}\n", f"CodeUri: {function}.zip\n", template
        )
        if found != 1:
            sys.exit(f"make build: infra/template.yaml has no CodeUri: ../functions/{function}")
        size = (folder / f"{function}.zip").stat().st_size
        print(f"{folder}/{function}.zip {size / 2**20:.1f} MiB")
    (folder / "template.yaml").write_text(template)
    print(f"{folder}/template.yaml")


def newest_glibc(binary):
    """The newest glibc version that a binary needs."""
    found = re.findall(rb"GLIBC_(\d+)\.(\d+)", binary)
    return max(((int(major), int(minor)) for major, minor in found), default=(0, 0))


def pack(binary, path):
    """Writes a zip that contains the bootstrap, executable and without a date."""
    entry = zipfile.ZipInfo("bootstrap", (1980, 1, 1, 0, 0, 0))
    entry.external_attr = 0o755 << 16
    entry.create_system = 3
    entry.compress_type = zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(entry, binary, compresslevel=9)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
