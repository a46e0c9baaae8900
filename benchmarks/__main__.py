"""``python -m benchmarks layer fleet``: measure speed and memory against the peers."""

import typer

from benchmarks._command import bench

if __name__ == "__main__":
    typer.run(bench)
