"""``python -m hlmc.cli`` is ``hlmc``."""

import sys

from hlmc.cli import main

sys.exit(main())
