"""Run the scripts of examples/gallery and write their pictures.

    python scripts/gallery.py                                   # all, into a new folder of temporary files
    python scripts/gallery.py stocks flights --out pictures     # plot_stocks.py and plot_flights.py

The site runs the same scripts with sphinx-gallery. A picture is written as NAME-1.png, NAME-2.png, ... in the order in
which it was drawn.
"""

from __future__ import annotations

import argparse
import runpy
import tempfile
import time
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "examples" / "gallery"


def scripts() -> dict[str, Path]:
    """Every script of the gallery by its name, without plot_ and .py."""
    return {path.stem.removeprefix("plot_"): path for path in sorted(FOLDER.glob("plot_*.py"))}


def draw(script: Path, folder: Path) -> list[Path]:
    """Run a script and write the figures that pyplot has at its end."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    plt.show = lambda *_, **__: None
    runpy.run_path(str(script), run_name="__main__")
    written = []
    for number in plt.get_fignums():
        path = folder / f"{script.stem.removeprefix('plot_')}-{number}.png"
        plt.figure(number).savefig(path, dpi=110)
        written.append(path)
    plt.close("all")
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(scripts())}; all of them if none is named")
    parser.add_argument("--out", type=Path, help="the folder of the pictures")
    options = parser.parse_args()
    known = scripts()
    for name in options.names:
        if name not in known:
            parser.error(f"there is no {name}; there are {', '.join(known)}")
    folder = options.out or Path(tempfile.mkdtemp(prefix="gallery-"))
    folder.mkdir(parents=True, exist_ok=True)
    for name in options.names or known:
        print(f"== {name}", flush=True)
        start = time.process_time()
        written = draw(known[name], folder)
        print(
            f"-- {time.process_time() - start:.1f} s of processor time; {', '.join(map(str, written)) or 'no picture'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
