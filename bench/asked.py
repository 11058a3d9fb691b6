"""Parsing of the measuring programs' arguments: numbers with checks, and the options that they share."""

import argparse

import population
from bench import ROOT

SIZES, QUICK_SIZES = "10000,1000000", "10000"
POPULATIONS, QUICK_POPULATIONS = "10000,1000000,1000000/10000", "10000,10000/100"


def count(text):
    """For argparse: a positive integer."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def amount(text):
    """For argparse: a positive number, for example of seconds."""
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no amount")
    return number


def sizes(text):
    """For argparse: numbers of passes separated by commas, sorted."""
    try:
        return sorted({count(size) for size in text.split(",")})
    except ValueError:
        raise argparse.ArgumentTypeError(f"these are no numbers: {text}") from None


def populations(text):
    """For argparse: numbers of passes with commas, each perhaps with a slash and a number of accounts, the least first."""
    try:
        return sorted({population.read(one) for one in text.split(",")})
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"these are no populations: {text}; PASSES/ACCOUNTS has the same number of passes in each of at most "
            f"{population.ACCOUNTS_MAX:,} accounts") from None


def add_populations_option(parser):
    parser.add_argument("--passes", type=populations, dest="populations", metavar="PASSES,PASSES/ACCOUNTS",
                        help=f"populations (default {POPULATIONS}, with --quick {QUICK_POPULATIONS})")


def populations_of(options):
    return options.populations or populations(QUICK_POPULATIONS if options.quick else POPULATIONS)


def add_sizes_option(parser):
    parser.add_argument("--passes", type=sizes, metavar="PASSES,PASSES",
                        help=f"sizes (default {SIZES}, with --quick {QUICK_SIZES})")


def sizes_of(options):
    return options.passes or sizes(QUICK_SIZES if options.quick else SIZES)


def add_common_options(parser):
    parser.add_argument("--json", metavar="FILE", help="write everything measured to FILE")
    parser.add_argument("--compare", metavar="OTHER.json",
                        help="at the end print this result beside that of another run of this program")
    parser.add_argument("--build", default=f"{ROOT}/build-release", help="where the programs are")
    parser.add_argument("--dir", help="where the data directory is made (default: the build directory)")
