"""Packages whose files are read, not imported: downloaded once from the index."""

import subprocess
import sys
import zipfile


def unpack(files, packages):
    """Puts the files of the packages into `files/files/NAME`; returns the packages' names with versions."""
    files.mkdir(parents=True, exist_ok=True)
    if len(list(files.glob("*.whl"))) < len(packages):
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(files), *packages]
        subprocess.run(download, check=True)
    wheels = sorted(files.glob("*.whl"))
    for wheel in wheels:
        folder = files / "files" / wheel.name.split("-")[0]
        if not folder.exists():
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder)
    return [" ".join(wheel.name.split("-")[:2]) for wheel in wheels]
