"""`python -m benchmarks [NAME …] [--quick] [--out FOLDER]`: run benchmarks, print their tables, and write them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from benchmarks.growth import growth

BENCHMARKS: Final = {"growth": growth}


def main() -> None:
    """Run what the command line names; everything where it names nothing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}; default: all")
    parser.add_argument("--quick", action="store_true", help="smaller sizes and fewer rounds")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), help="folder for the tables")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(BENCHMARKS):
        parser.error(f"there is no benchmark {min(unknown)!r}")
    for name in asked.names or BENCHMARKS:
        for table in BENCHMARKS[name](quick=asked.quick):
            print(table.markdown(), flush=True)
            table.write(asked.out)


if __name__ == "__main__":
    main()
