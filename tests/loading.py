"""Scripts of the repository as modules, whatever else has their names."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]


def script(path: str) -> ModuleType:
    """The module of a file, by its path from the root. It is registered, because dataclasses look up theirs."""
    spec = importlib.util.spec_from_file_location("hlmc_" + path.removesuffix(".py").replace("/", "_"), ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
