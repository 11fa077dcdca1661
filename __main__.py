"""`python -m yieldrl` is `yieldrl`."""

from yieldrl.cli import main

if __name__ == "__main__":
    main()
