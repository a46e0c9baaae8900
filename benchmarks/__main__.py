"""``python -m benchmarks layer fleet``: measure speed and memory against the peers."""

from benchmarks._command import main

if __name__ == "__main__":
    main()
