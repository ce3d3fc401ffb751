#!/usr/bin/env python3
"""Makes the torch of the package index importable without its gigabytes of CUDA packages, for processors only.

For every CUDA library that torch's libraries name and that is not there, an empty one is compiled into the same folder:
it has the library's name, the functions and versions that torch refers to, and each of its functions answers `no device`
(100), as on a machine without a GPU.

    tools/cuda_stubs.py .../site-packages/torch/lib      needs gcc and binutils
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

CUDA_LIBRARY = re.compile(r"lib(cu|nv|nccl)")
CUDA_FUNCTION = re.compile(r"(cu[A-Zdbsfrp]|nccl|nvtx|nvsh|nvrtc|nvJit|__cuda)")
NO_DEVICE = 100


def printed(*command) -> str:
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def needed_libraries(file: pathlib.Path) -> set[str]:
    return {name for name in re.findall(r"NEEDED\s+(\S+)", printed("objdump", "-p", file)) if CUDA_LIBRARY.match(name)}


def library_of_versions(file: pathlib.Path) -> dict[str, str]:
    """Which library each symbol version of a file is required from."""
    owners, library = {}, None
    for line in printed("objdump", "-p", file).splitlines():
        heading = re.match(r"\s+required from (\S+):", line)
        if heading:
            library = heading[1]
        elif not line.strip():
            library = None
        elif library:
            owners[line.split()[-1]] = library
    return owners


def symbols(file: pathlib.Path, which: str) -> list[tuple[str, str]]:
    """Name and version of the dynamic symbols of a file."""
    names = [line.split()[-1] for line in printed("nm", "-D", which, file).splitlines() if line.split()]
    return [(name.split("@")[0], name.split("@")[-1] if "@" in name else "") for name in names]


def body(function: str) -> str:
    # A caller that turns an error into text follows the pointer.
    if re.search(r"Get(Error|Status)(String|Name)$", function):
        return f'const char* {function}(void) {{ return "there is no CUDA device"; }}'
    return f"int {function}(void) {{ return {NO_DEVICE}; }}"


def compile_stub(place: pathlib.Path, library: str, functions: set[str], versions: dict[str, set[str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "stub.c")
        bodies = [body(name) for name in sorted(functions)]
        source.write_text("\n".join(bodies) or "int jouletree_stub;")
        command = ["gcc", "-shared", "-fPIC", "-w", "-o", place / library, source, f"-Wl,-soname,{library}"]
        if versions:
            script = pathlib.Path(folder, "stub.map")
            parts = [f"{version} {{ global: {'; '.join(sorted(names))}; }};" for version, names in versions.items()]
            script.write_text("\n".join(parts))
            command.append(f"-Wl,--version-script={script}")
        subprocess.run([str(word) for word in command], check=True)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    place = pathlib.Path(sys.argv[1])
    files = sorted(place.glob("*.so*"))
    owners: dict[str, str] = {}
    missing: set[str] = set()
    versioned: dict[str, set[str]] = collections.defaultdict(set)
    plain: set[str] = set()
    defined: set[str] = set()
    for file in files:
        missing |= needed_libraries(file)
        owners |= library_of_versions(file)
        for name, version in symbols(file, "--undefined-only"):
            if version:
                versioned[version].add(name)
            elif CUDA_FUNCTION.match(name):
                plain.add(name)
        defined |= {name for name, _ in symbols(file, "--defined-only")}
    missing -= {file.name for file in files}
    # A function without a version may be in any library: the first has them all.
    loose = plain - defined
    for library in sorted(missing):
        versions = {version: names for version, names in versioned.items() if owners.get(version) == library}
        compile_stub(place, library, set().union(loose, *versions.values()), versions)
        loose = set()


if __name__ == "__main__":
    main()
