"""python3 -m sglang_probe judge FILE | gate --spec FILE | probe --spec FILE … | preflight --spec FILE

Exit codes: 0 fine, 1 problems found, 3 used wrongly.
"""

import argparse
import json
import sys

from . import gate, preflight, probe
from .answers import NoChatAnswers, read_answers
from .judge import judge
from .spec import SpecError, load_spec


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(3, f"{self.prog}: {message}\n")


def main(arguments=None):
    """Run one verb and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except (SpecError, NoChatAnswers) as error:
        print(error, file=sys.stderr)
        return 3


def _parser():
    parser = _Parser(prog="sglang_probe", description="Health of an SGLang service and of its texts.")
    verbs = parser.add_subparsers(required=True, metavar="VERB", parser_class=_Parser)
    verb = verbs.add_parser("judge", help="judge chat answers in a file")
    verb.add_argument(
        "file",
        metavar="FILE",
        help="JSON: a chat completion, an array of them, or {answers: [...]}; - reads standard input",
    )
    verb.add_argument("--json", action="store_true", help="print {verdicts: [...]}")
    verb.set_defaults(run=_judge)
    verb = verbs.add_parser("gate", help="wait until the service is healthy, or say why it is not")
    verb.add_argument("--spec", required=True, metavar="FILE")
    verb.add_argument(
        "--poll-seconds", type=float, default=2.0, help="pause between two looks while it loads (default 2)"
    )
    verb.set_defaults(run=lambda o: gate.run(load_spec(o.spec, ("servedModelName",)), o.poll_seconds))
    verb = verbs.add_parser("probe", help="one short semantic probe")
    verb.add_argument("--spec", required=True, metavar="FILE")
    verb.add_argument("--metrics-file", metavar="PATH", help="textfile metric to write")
    verb.add_argument(
        "--restart-on-degenerate", action="store_true", help="restart the unit when its texts are degenerate"
    )
    verb.add_argument(
        "--max-restarts-per-hour", type=int, default=1, metavar="N", help="bound of such restarts (default 1)"
    )
    verb.set_defaults(run=_probe)
    verb = verbs.add_parser("preflight", help="checks before the server starts")
    verb.add_argument("--spec", required=True, metavar="FILE")
    verb.set_defaults(run=lambda o: preflight.run(load_spec(o.spec)))
    return parser


def _probe(options):
    spec = load_spec(options.spec, ("servedModelName",))
    return probe.run(spec, options.metrics_file, options.restart_on_degenerate, options.max_restarts_per_hour)


def _judge(options):
    try:
        if options.file == "-":
            text = sys.stdin.read()
        else:
            with open(options.file, encoding="utf-8") as file:
                text = file.read()
        value = json.loads(text)
    except OSError as error:
        raise NoChatAnswers(f"{options.file}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise NoChatAnswers(f"{options.file}: is not JSON: {error}") from error
    try:
        answers = read_answers(value)
    except NoChatAnswers as error:
        raise NoChatAnswers(f"{options.file}: {error}") from error
    verdicts = [judge(answer, question) for answer, question in answers]
    if options.json:
        print(json.dumps({"verdicts": verdicts}, ensure_ascii=False, indent=2))
    else:
        for number, verdict in enumerate(verdicts, 1):
            print(f"{number}: {'healthy' if verdict['healthy'] else '; '.join(verdict['reasons'])}")
            if not verdict["healthy"] and verdict["excerpt"]:
                print(f'   "{verdict["excerpt"]}"')
        print(f"{sum(verdict['healthy'] for verdict in verdicts)} of {len(verdicts)} healthy")
    return 0 if all(verdict["healthy"] for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
