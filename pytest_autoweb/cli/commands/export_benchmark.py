"""`autoweb benchmark pack`: pack cases with all they rest on, so that others run exactly this."""

import argparse
from hashlib import sha256
from pathlib import Path

from msgspec.structs import asdict

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.cases.loader import LoadedCase, load_case_file
from pytest_autoweb.cli.json_document import add_json_argument, print_json
from pytest_autoweb.cli.run_arguments import named_run
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.large_report import without_evidence
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.results.runs.foreign_run import run_folder_around
from pytest_autoweb.results.runs.run_folder import RecordedRun, read_run, refuse_other_folders
from pytest_autoweb.session.case_files import holds_cases
from pytest_autoweb.session.project_variants import project_variants
from pytest_autoweb.tools.publishing.benchmark_files import (
    BenchmarkManifest,
    PackingRules,
    collect_files,
)
from pytest_autoweb.tools.publishing.harbor_tasks import NoTask, harbor_content, sorted_out
from pytest_autoweb.tools.publishing.packed_benchmark import (
    benchmark_of,
    write_benchmark,
    write_files,
)
from pytest_autoweb.tools.publishing.received_benchmark import differences, run_differences

_EXPORT_BENCHMARK_EPILOG = """\
An archive, or a folder, with case files, the pages that their web servers serve, files for uploads,
the functions of their checks, conftests, the settings that decide how a cell ends, and
benchmark.json: versions, what else is needed, and a checksum of every file and case. Whoever gets
it unpacks it, checks it and runs pytest in it.

  autoweb benchmark pack cases -o shop-1.0.zip
  autoweb benchmark pack cases -o shop-1.0.zip --run autoweb-report
  autoweb benchmark pack --as harbor cases -o shop-harbor

With --as harbor, each case with a web server and checks of its state becomes a task of Harbor, and
what cannot be said there is listed with the reason, also in README.md.

Nothing secret is packed: of secrets only the names of their variables, no storage state, and no
file that holds the value of a secret or what looks like a key.

Exit status: 0 packed; 4 invalid input, or something cannot be packed.
"""
_CHECK_ABOUT = """\
Compares an archive that `autoweb benchmark pack` wrote, or a folder unpacked from one, with its
checksums, and a run with its cases and checks. Nothing of it is run.

  autoweb benchmark check shop-1.0.zip
  autoweb benchmark check shop --run shop/autoweb-report

Exit status: 0 everything is as it was; 1 something was changed, is missing or was added; 4 invalid
input.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Packs cases, checks, controls, versions and checksums so that others can run exactly this."
    )
    parser.epilog = _EXPORT_BENCHMARK_EPILOG
    parser.add_argument(
        "cases", nargs="+", type=Path, metavar="CASES", help="case files, or folders with some"
    )
    parser.add_argument(
        "--as", dest="form", choices=("archive", "harbor"), default="archive",
        help="in which form: our own (archive), or tasks of Harbor",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", type=Path, metavar="PLACE",
        help="the archive (PLACE.zip) or the new folder; default: NAME-RELEASE.zip",
    )  # fmt: skip
    parser.add_argument("--name", default="", help="its name; default: that of the root folder")
    parser.add_argument("--release", default="1", metavar="VERSION", help="its version (1)")
    parser.add_argument(
        "--root", type=Path, default=Path(), metavar="DIR",
        help="the folder that holds everything, from which the cases are run (the working folder)",
    )  # fmt: skip
    for name, text in (
        ("include", "also pack this file or folder, such as the program of a web server"),
        ("leave-out", "do not pack this file; users of the benchmark have to provide their own"),
        ("not-secret", "this file may be packed although something in it looks like a key"),
    ):
        parser.add_argument(
            f"--{name}", action="append", default=[], type=Path, metavar="PATH",
            help=f"{text}; may be repeated",
        )  # fmt: skip
    parser.add_argument(
        "--needs", action="append", default=[], metavar="TEXT",
        help="what else is needed, such as 'pip install shop==1.2'; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--run", dest="run_folder", type=named_run, metavar="RUN",
        help="the run whose controls are told",
    )  # fmt: skip
    add_json_argument(parser)
    parser.set_defaults(run=run)


def add_check_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _CHECK_ABOUT
    parser.add_argument(
        "place", type=Path, metavar="PLACE", help="an archive, or a folder unpacked from one"
    )
    parser.add_argument(
        "--run", dest="run_folder", type=named_run, metavar="RUN",
        help="also tell whether this is a run of exactly these cases",
    )  # fmt: skip
    add_json_argument(parser)
    parser.set_defaults(run=run_check)


def run(args: argparse.Namespace) -> int:
    """Pack the cases.

    Raises:
        AutowebError: something cannot be packed, read or written.
    """
    root: Path = args.root
    if not root.is_dir():
        raise SettingsError(f"--root {root} is not a folder")
    rules = PackingRules(
        root=root,
        include=tuple(args.include),
        leave_out=tuple(args.leave_out),
        not_secret=tuple(args.not_secret),
        words=tuple(args.needs),
    )
    for path in (*rules.include, *rules.not_secret):
        if not path.exists():
            raise SettingsError(f"there is no {path}")
    name = args.name or root.resolve().name
    ending = "-harbor" if args.form == "harbor" else ".zip"
    target = args.output or Path(f"{name}-{args.release}{ending}")
    if target.exists():
        raise SettingsError(f"{target} is there already; name another place with -o")
    recorded = _recorded(args.run_folder)
    # The checks of the project's own conftest count. Verifying never comes here.
    with project_variants(root):
        cases = _cases(args.cases)
        if args.form == "harbor":
            return _pack_for_harbor(args, cases, rules, f"{name} {args.release}", target)
        found = collect_files(cases, rules)
        manifest, content = benchmark_of(cases, found, name, args.release, recorded)
    write_benchmark(target, manifest, content)
    if args.json:
        print_json(
            "benchmark", {"place": target, "manifest": manifest, "differences": (), "notes": ()}
        )
    else:
        _tell_of_benchmark(target, manifest)
    return 0


def _pack_for_harbor(
    args: argparse.Namespace,
    cases: list[LoadedCase],
    rules: PackingRules,
    title: str,
    target: Path,
) -> int:
    if args.run_folder:
        raise SettingsError("--run does not go with --as harbor: its tasks tell no controls")
    packed, left = sorted_out(cases)
    if not packed:
        raise SettingsError("no case can be a task of Harbor:\n" + "\n".join(_reasons(left)))
    write_files(target, harbor_content(packed, left, collect_files(packed, rules), title))
    if args.json:
        left_out = [asdict(one) for one in left]
        print_json("harbor", {"place": target, "packed": len(packed), "left_out": left_out})
        return 0
    print(f"packed {count_of(len(packed), 'case')} as tasks of Harbor into {target}")
    for line in _reasons(left):
        print(one_line(line))
    return 0


def _reasons(left: list[NoTask]) -> list[str]:
    return [f"not packed: {one.case}: {reason}" for one in left for reason in one.reasons]


def _recorded(folder: Path | None) -> RecordedRun | None:
    if folder is None:
        return None
    refuse_other_folders(folder)
    return read_run(folder, without_evidence)


def _cases(named: list[Path]) -> list[LoadedCase]:
    files: dict[Path, None] = {}
    for path in named:
        if path.is_dir():
            inside = sorted(
                file
                for kind in ("*.yaml", "*.yml")
                for file in path.rglob(kind)
                if not any(part.startswith(".") for part in file.relative_to(path).parts)
            )
            own = (file for file in inside if not run_folder_around(file.resolve()))
            files |= dict.fromkeys(file for file in own if holds_cases(file))
        elif path.is_file():
            if home := run_folder_around(path.resolve()):
                raise SettingsError(f"{path} lies in the run folder {home}, which is data")
            files[path] = None
        else:
            raise SettingsError(f"there is no {path}")
    if not files:
        raise SettingsError(f"no case file in {', '.join(map(str, named))}")
    return [case for file in files for case in load_case_file(file)]


def _tell_of_benchmark(target: Path, manifest: BenchmarkManifest) -> None:
    size = sum(file.size for file in manifest.files)
    print(
        f"packed {count_of(len(manifest.cases), 'case')} in "
        f"{count_of(len(manifest.files), 'file')} ({size:,} bytes) into {target}"
    )
    if target.is_file():
        print(f"SHA-256 of the archive: {sha256(target.read_bytes()).hexdigest()}")
    print(f"SHA-256 over its files: {manifest.digest}")
    kinds: dict[str, list[str]] = {}
    for file in manifest.files:
        kinds.setdefault(file.role, []).append(file.path)
    for role, paths in kinds.items():
        shown = ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")
        print(f"  {role:9} {one_line(shown)}")
    if manifest.hidden:
        print(f"not in it: {count_of(manifest.hidden, 'hidden file')} of served folders")
    if not manifest.controls:
        print("no controls: run them with --autoweb-controls and name that run with --run")
    needs = manifest.needs
    for word, listed in (
        ("environment", needs.environment),
        ("package", tuple(f"{one.name}=={one.version} ({one.why})" for one in needs.packages)),
        ("file", needs.files),
        ("site", needs.sites),
        ("also", needs.words),
    ):
        for one in listed:
            print(f"needs {word}: {one_line(one)}")


def run_check(args: argparse.Namespace) -> int:
    """Compare what was packed with its checksums; return 1 if something differs, else 0.

    Raises:
        AutowebError: it cannot be read.
    """
    if not args.place.exists():
        raise SettingsError(f"there is no {args.place}")
    manifest, found, notes = differences(args.place)
    recorded = _recorded(args.run_folder)
    of_run = run_differences(manifest, recorded.cells) if recorded else []
    told = [*found, *of_run]
    if args.json:
        listed = [{"what": each.what, "where": each.where} for each in told]
        print_json(
            "benchmark",
            {"place": args.place, "manifest": manifest, "differences": listed, "notes": notes},
        )
        return int(bool(told))
    print(
        f"{one_line(manifest.name)} {one_line(manifest.release)}: "
        f"{count_of(len(manifest.cases), 'case')}, {count_of(len(manifest.files), 'file')}, "
        f"SHA-256 {manifest.digest}"
    )
    for note in notes:
        print(f"note: {one_line(note)}")
    for each in told:
        print(f"{each.what:8} {one_line(each.where)}")
    if not found:
        print("every file is as it was packed")
    if recorded and not of_run:
        print(f"{args.run_folder} is a run of exactly these cases and checks")
    return int(bool(told))
