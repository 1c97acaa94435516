"""Speed of the playground in headless Chromium: steps a second of each policy, and frames a second meanwhile.

    python benchmarks/playground.py [--seconds 3] [--only HLMC]

For every policy the page plays K = 100, M = 20, T = 10^7 against Needle, as fast as it can, with all of its pictures;
then four policies side by side, and "be the adversary" at a thousand steps a second. A frame that comes more than 25 ms
after the one before counts as late.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")

PAGE = """<!DOCTYPE html><body style="margin:0"><script>
async function measured(hash, seconds) {
    const frame = document.createElement("iframe");
    frame.style = "border:0;width:1280px;height:900px";
    frame.src = `index.html#${hash}&play`;
    document.body.append(frame);
    await new Promise((resolve) => { frame.onload = resolve; });
    const page = frame.contentWindow;
    const get = (id) => page.document.getElementById(id);
    const steps = () => Number(get("time").textContent.replaceAll(",", ""));
    await new Promise((resolve) => setTimeout(resolve, 500));  // until the code is compiled with care
    let last = steps(), total = 0;
    const start = performance.now(), times = [];
    await new Promise((resolve) => {
        const tick = (now) => {
            times.push(now);
            total += Math.max(0, steps() - last);
            last = steps();
            if (get("play").textContent === "Play again") get("play").click();
            if (performance.now() - start < 1000 * seconds) page.requestAnimationFrame(tick);
            else resolve();
        };
        page.requestAnimationFrame(tick);
    });
    const took = (performance.now() - start) / 1000;
    const gaps = times.slice(1).map((time, i) => time - times[i]);
    frame.remove();
    return {
        rate: total / took, frames: gaps.length / took,
        late: gaps.filter((gap) => gap > 25).length, worst: Math.max(...gaps),
    };
}
(async () => {
    const { tasks, seconds } = await (await fetch("tasks.json")).json(), found = [];
    for (const task of tasks) found.push(await measured(task, seconds));
    await fetch("found", { method: "POST", body: JSON.stringify(found) });
})();
</script></body>"""


class _Server(SimpleHTTPRequestHandler):
    found: list[Any]
    done: threading.Event

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        """Keep what the page has measured."""
        self.found += json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()
        self.done.set()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--only", help="measure only rows whose name contains this")
    arguments = parser.parse_args()
    seconds = arguments.seconds
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("not installed: chromium")
    script = Path(__file__).resolve().parent.parent / "scripts" / "playground.py"
    spec = importlib.util.spec_from_file_location("hlmc_scripts_playground", script)
    assert spec is not None
    assert spec.loader is not None
    playground = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = playground
    spec.loader.exec_module(playground)
    common = "arms=100&memory=20&horizon=10000000&adversary=Needle&speed=7&policies="
    sides = "HLMC~Champion~UCB-M~EXP3"
    tasks = {name: common + name for name in playground.POLICIES}
    tasks[sides.replace("~", " + ")] = common + sides
    yours = "HLMC~Champion~Tsallis-INF~UCB1"
    tasks["be the adversary"] = f"arms=16&memory=8&horizon=1000000&adversary=You&speed=3&policies={yours}"
    tasks = {name: task for name, task in tasks.items() if (arguments.only or "") in name}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        playground.assemble(place)
        (Path(place) / "page.html").write_text(PAGE)
        (Path(place) / "tasks.json").write_text(json.dumps({"tasks": list(tasks.values()), "seconds": seconds}))
        handler = type("Handler", (_Server,), {"found": [], "done": threading.Event()})
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=place))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}/page.html"
        command = [browser, *FLAGS, f"--user-data-dir={place}/profile", "--window-size=1300,920", address]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        handler.done.wait(60 + len(tasks) * (seconds + 5))
        process.terminate()
        process.wait(30)
        server.shutdown()
        server.server_close()
    print(f"{'policy':34} {'steps/s':>12} {'frames/s':>9} {'late':>8} {'longest ms':>11}")
    for name, found in zip(tasks, handler.found, strict=True):
        print(f"{name:34} {found['rate']:12,.0f} {found['frames']:9.1f} {found['late']:8} {found['worst']:11.1f}")


if __name__ == "__main__":
    main()
