"""Run the notebooks and keep them clean.

    python scripts/notebooks.py                   # run all, write the outputs back
    python scripts/notebooks.py 01 03             # those whose names begin so
    python scripts/notebooks.py --check           # run all, write nothing; fail on an error or on another text output

A notebook is kept in one form: cells are numbered, outputs have no times, no machine's versions and no empty metadata.
So a notebook that did not change has no diff. With --check, printed text and the text of results are compared with the
stored ones. Pictures are not, because they depend on fonts. A cell with the tag "volatile" is not, because it shows
times. Running needs nbclient and ipykernel, of the extra `docs`.
"""

from __future__ import annotations

import argparse
import base64
import difflib
import importlib
import io
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "notebooks"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
LIMIT = 240
"""Seconds for one cell, on a busy machine; a notebook takes less than a minute on a quiet one."""
VOLATILE = "volatile"

Notebook = dict[str, Any]


def notebooks() -> list[Path]:
    """Every notebook, in order."""
    return sorted(FOLDER.glob("[0-9]*.ipynb"))


def read(path: Path) -> Notebook:
    """A notebook with its outputs: the file's JSON, in which long texts are lists of lines."""
    notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def write(notebook: Notebook, path: Path) -> None:
    """Write a notebook as Jupyter does."""
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def run(notebook: Notebook) -> Notebook:
    """A copy of a notebook with the outputs of a run from top to bottom, in a fresh process and an empty folder."""
    # By name, since these packages are not there where types are checked.
    client, form = importlib.import_module("nbclient"), importlib.import_module("nbformat")
    fresh = form.reads(json.dumps(notebook), as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        client.NotebookClient(fresh, timeout=LIMIT, kernel_name="python3", resources=where).execute()
    done: Notebook = json.loads(form.writes(fresh))
    for output in (each for cell in done["cells"] for each in cell.get("outputs", [])):
        if "image/png" in (data := output.get("data", {})):
            data["image/png"] = small("".join(data["image/png"]))
    return clean(done)


def small(picture: str) -> str:
    """A picture, PNG in base64, with at most 128 colours: a third of the size, and nobody sees it."""
    from PIL import Image

    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    out = io.BytesIO()
    image.quantize(128, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(out, "png", optimize=True)
    return base64.b64encode(out.getvalue()).decode()


def joined(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The outputs with neighbouring pieces of one stream as one: where Jupyter cuts depends on time."""
    found: list[dict[str, Any]] = []
    for output in outputs:
        if (
            found
            and output["output_type"] == found[-1]["output_type"] == "stream"
            and output["name"] == found[-1]["name"]
        ):
            found[-1]["text"] = "".join([*found[-1]["text"], *output["text"]]).splitlines(keepends=True)
        else:
            found.append(output)
    return found


def clean(notebook: Notebook) -> Notebook:
    """The form in which a notebook is kept, in place."""
    notebook["metadata"].clear()
    notebook["metadata"]["kernelspec"] = dict(KERNEL)
    notebook["metadata"]["language_info"] = {"name": "python"}
    count = 0
    for number, cell in enumerate(notebook["cells"], 1):
        cell["id"] = f"cell-{number:02}"
        tags = cell["metadata"].get("tags")
        cell["metadata"].clear()
        if tags:
            cell["metadata"]["tags"] = tags
        if cell["cell_type"] != "code":
            continue
        count += 1
        cell["execution_count"] = count
        cell["outputs"] = joined(cell["outputs"])
        for output in cell["outputs"]:
            output.get("metadata", {}).clear()
            if output["output_type"] == "execute_result":
                output["execution_count"] = count
    return notebook


def texts(cell: dict[str, Any]) -> list[str]:
    """What a cell printed and returned, without pictures."""
    found = []
    for output in cell.get("outputs", []):
        if output["output_type"] == "stream":
            found.append("".join(output["text"]))
        elif "image/png" in output.get("data", {}):
            found.append("a picture")
        else:
            found.append("".join(output.get("data", {}).get("text/plain", output["output_type"])))
    return "".join(found).splitlines()


def differences(stored: Notebook, fresh: Notebook, name: str) -> list[str]:
    """A diff of all text that two runs should have in common; empty if it is the same."""
    lines: list[str] = []
    for old, new in zip(stored["cells"], fresh["cells"], strict=True):
        if VOLATILE not in old["metadata"].get("tags", []):
            at = f"{name} {new['id']}"
            lines += difflib.unified_diff(texts(old), texts(new), f"{at}, stored", f"{at}, now", lineterm="")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="beginnings of names; all notebooks if there are none")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the text of an output differs")
    options = parser.parse_args()
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    failed = 0
    for path in notebooks():
        if options.names and not path.name.startswith(tuple(options.names)):
            continue
        start = time.perf_counter()
        stored = read(path)
        try:
            fresh = run(stored)
        except importlib.import_module("nbclient").exceptions.CellExecutionError as error:
            print(f"{path.name}: {error}", flush=True)
            failed += 1
            continue
        seconds = time.perf_counter() - start
        diff = differences(stored, fresh, path.name) if options.check else []
        if not options.check:
            write(fresh, path)
        failed += bool(diff)
        print("\n".join([f"{path.name}: {seconds:.0f} s, {'differs' if diff else 'good'}", *diff]), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
