# SPDX-License-Identifier: Apache-2.0
"""Write each line of standard input to a topic, as one record."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from headrace.cli.bootstrap import add_bootstrap, chosen_bootstrap
from headrace.local import Record, Topics, Writer

if TYPE_CHECKING:
    import argparse

NAME = "produce"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the topic and how lines become records."""
    parser.add_argument("topic")
    parser.add_argument(
        "--key-separator", metavar="TEXT", help="what stands before its first occurrence in a line is the key"
    )
    parser.add_argument("--partition", type=int, metavar="N", help="default: by the key's hash")
    add_bootstrap(parser)


def run(args: argparse.Namespace) -> int:
    """Writes standard input to the topic."""
    bootstrap = chosen_bootstrap(args)
    # A topic that is not there is said at once, not after the first line.
    Topics(bootstrap).partitions(args.topic)
    writer = Writer(bootstrap)
    separator = args.key_separator.encode() if args.key_separator else None
    count = 0
    try:
        for line in sys.stdin.buffer:
            writer.write(args.topic, parse_line(line, separator, args.partition))
            count += 1
    finally:
        # Ctrl-C ends the input; what was typed before is written all the same.
        writer.flush()
    sys.stderr.write(f"wrote {count} records to {args.topic}\n")
    return 0


def parse_line(line: bytes, separator: bytes | None, partition: int | None) -> Record:
    """Makes a record of a line; a line without the separator has no key."""
    text = line.removesuffix(b"\n")
    if separator is not None and separator in text:
        key, _, value = text.partition(separator)
        return Record(key=key, value=value, partition=partition)
    return Record(value=text, partition=partition)
