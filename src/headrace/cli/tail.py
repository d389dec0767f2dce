# SPDX-License-Identifier: Apache-2.0
"""Print the values of a topic's records as they come, one a line."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from headrace.cli.bootstrap import add_bootstrap, chosen_bootstrap
from headrace.local import Reader, Record

if TYPE_CHECKING:
    import argparse

NAME = "tail"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the topic, where to start, and when to stop."""
    parser.add_argument("topic")
    parser.add_argument("--from-beginning", action="store_true", help="start at the first record, not the next one")
    parser.add_argument("--to-end", action="store_true", help="stop at the last record that is there")
    parser.add_argument("--max", type=int, metavar="N", help="stop after N records")
    parser.add_argument("--committed", action="store_true", help="skip records of open and aborted transactions")
    parser.add_argument("--key-separator", metavar="TEXT", help="print the key and this text before each value")
    add_bootstrap(parser)


def run(args: argparse.Namespace) -> int:
    """Prints records until the limit, the end, or Ctrl-C."""
    reader = Reader(chosen_bootstrap(args), args.topic, from_beginning=args.from_beginning, committed=args.committed)
    with contextlib.closing(reader):
        try:
            _print_records(reader, args)
        except BrokenPipeError:
            # Whoever read our output has had enough. Python flushes stdout once more when it ends; let it succeed.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _print_records(reader: Reader, args: argparse.Namespace) -> None:
    separator = args.key_separator.encode() if args.key_separator else None
    left = args.max
    while left is None or left > 0:
        records = reader.poll()[:left]
        sys.stdout.buffer.writelines(format_record(record, separator) for record in records)
        sys.stdout.flush()
        left = None if left is None else left - len(records)
        if args.to_end and reader.at_end:
            return


def format_record(record: Record, separator: bytes | None) -> bytes:
    """Makes a line of a record; what is not there reads ``null``."""
    value = b"null" if record.value is None else record.value
    if separator is None:
        return value + b"\n"
    key = b"null" if record.key is None else record.key
    return key + separator + value + b"\n"
