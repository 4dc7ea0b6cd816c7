"""``python -m supervisor`` is the ``supervise`` command."""

from supervisor.cli import main

if __name__ == "__main__":
    main()
