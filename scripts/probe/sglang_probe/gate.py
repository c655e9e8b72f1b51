"""The health gate: is the service that was just started the declared one, and does it make sense?

Order: unit and journal while it loads; the owner of the port; /health; /server_info; the KV pool; the semantic probe;
the unit once more. The first failing step ends the gate. It prints progress lines, then one JSON line.
"""

import functools
import json
import time

from . import fatal_lines, ports, router, unit
from .client import Client, NoAnswer
from .explanations import CONTROL_RUN, explain
from .questions import DEFAULT_QUESTIONS
from .semantic import ask, ask_in_turn, tokens_per_second
from .server_info import differences, pool_problem
from .spec import is_follower, port_of

WAIT_SHARE = 20  # a look that comes late loses at most this part of the wait
HEALTH_TIMEOUT_SECONDS = 30  # the server itself gives up after 20 s and answers 503
QUIET_HINT_SECONDS = 60


class GateFailure(Exception):
    """The gate's verdict "not healthy": the stage, the reasons, and facts for the report."""

    def __init__(self, stage, *reasons, **facts):
        super().__init__("; ".join(reasons))
        self.stage, self.reasons, self.facts = stage, list(reasons), facts


class Gate:
    """One run of the gate over one specification. poll_seconds: longest pause between two looks at a loading server."""

    samplings = ("temperature-0", "card")

    def __init__(self, spec, poll_seconds=2.0, say=None):
        self.spec = spec
        self.poll_seconds = poll_seconds
        self.started = time.monotonic()
        self.say_line = say or (lambda line: print(line, flush=True))
        self.client = None
        self.watch = None
        self.info = {}
        self.model_type = ""
        self.answers = []

    def run(self):
        """Run every step and return the report; its "healthy" decides."""
        report = {"healthy": False, "service": self.spec["service"], "unit": self.spec["unit"]}
        try:
            self._steps()
            report["healthy"] = True
        except GateFailure as failure:
            report.update(stage=failure.stage, reasons=failure.reasons, **failure.facts)
        except unit.UnitError as error:
            report.update(stage="unit", reasons=[str(error)], rules=error.rules)
        report.update(
            version=self.info.get("version"),
            maxTotalTokens=self.info.get("max_total_num_tokens"),
            answers=self.answers,
            tokensPerSecond=tokens_per_second(self.answers),
            seconds=round(time.monotonic() - self.started, 1),
        )
        return report

    def _steps(self):
        questions = self.spec.get("prompts", DEFAULT_QUESTIONS)
        if not questions:
            raise GateFailure("semantic probe", "prompts is empty: a probe without a question proves nothing")
        try:
            self.client = Client(self.spec["url"], self.spec.get("apiKeyFile"))
        except OSError as error:
            raise GateFailure("specification", f"apiKeyFile {self.spec['apiKeyFile']}: {error.strerror}") from error
        self.watch = unit.UnitWatch(self.spec["unit"], may_restart="node" in self.spec)
        self.main_pid = None
        self._wait_for_health()
        self._compare_server_info()
        self._ask_all(questions)
        self._still_the_same()
        self.say("healthy")

    def say(self, text):
        """One progress line with the seconds since the gate began."""
        self.say_line(f"[{time.monotonic() - self.started:.0f}s] {text}")

    def _wait_for_health(self):
        deadline = self.started + self.spec["deadlineSeconds"]
        self.say(f"waiting for {self.spec['unit']} at {self.spec['url']}")
        if "node" in self.spec:
            self.say(self._whom_it_waits_for())
        seen = "nothing yet"
        moved = time.monotonic()
        hinted = False
        while True:
            phase = self.watch.check()
            if phase:
                self.say(phase)
                moved, hinted = time.monotonic(), False
            if self._is_as_far_as_it_gets():
                return
            answer = self._health(max(1.0, min(HEALTH_TIMEOUT_SECONDS, deadline - time.monotonic())))
            if answer == "200":
                self.say("/health answers 200")
                return
            if answer != seen:
                seen = answer
                self.say(f"/health: {answer}")
            if not hinted and time.monotonic() - moved > QUIET_HINT_SECONDS and self.watch.phase == unit.JOINING and "node" not in self.spec:
                hinted = True
                self.say("still joining the GPUs: is lo up in the container? (ip link show lo)")
            if time.monotonic() >= deadline:
                last = self.watch.journal.lines[-1:] or ["none"]
                if self.watch.phase == unit.JOINING and "node" in self.spec:
                    raise GateFailure("nodes", self._who_is_missing())
                raise GateFailure(
                    "health",
                    f"not healthy within {self.spec['deadlineSeconds']} s: /health: {seen}; loading phase: "
                    f"{self.watch.phase or 'none seen'}; last log line: {last[0].strip()[:300]}",
                )
            time.sleep(min(self.poll_seconds, max(0.25, (time.monotonic() - self.started) / WAIT_SHARE)))

    def _is_as_far_as_it_gets(self):
        """Whether the service need not answer /health to be as far as it can get by itself."""
        return False

    def _whom_it_waits_for(self):
        node = self.spec["node"]
        return (
            f"it needs the other {node['count'] - 1} of {node['count']} nodes, which meet at {node['meets']}: run `up` of their stacks "
            "before or beside this one"
        )

    def _who_is_missing(self):
        node = self.spec["node"]
        return (
            f"the other {node['count'] - 1} of {node['count']} nodes did not all come to {node['meets']} within "
            f"{self.spec['deadlineSeconds']} s: run `up` of their stacks first (a node above rank 0 waits for this one), and look "
            "whether every port is open between the containers"
        )

    def _health(self, timeout):
        """ "200", or in words why not yet. Whoever holds the port is looked at before an answer is believed."""
        try:
            status, _ = self.client.request("/health", timeout=timeout)
        except NoAnswer as error:
            if error.kind == "refused":
                return "connection refused (not yet)"
            self._check_owner()
            return f"{error.kind} (not yet)"
        self._check_owner()
        if status in (200, 503):
            return "200" if status == 200 else "503 (not yet)"
        raise GateFailure("health", f"/health answers {status}: not an SGLang server, or one that cannot serve")

    def _check_owner(self):
        properties = unit.state(self.spec["mainPidUnit"])
        main_pid = int(properties.get("MainPID") or 0)
        found = ports.listeners(port_of(self.spec))
        strangers = [one for one in found if not ports.belongs_to(one, self.spec["mainPidUnit"], main_pid)]
        if strangers:
            owners = ", ".join(ports.describe(one) for one in strangers)
            raise GateFailure(
                "port",
                f"port {port_of(self.spec)} is held by {owners}, not by {self.spec['mainPidUnit']}: its answers prove nothing; "
                "stop that process or give the service another port",
            )
        if not found:
            # A server that died since its last answer has a better reason.
            self._wait_for_unit_failure()
            raise GateFailure("port", f"{self.spec['url']} answers, but nothing on this machine listens on its port")

    def _compare_server_info(self):
        self.info = self._get("/server_info", 120)
        found = differences(self.info, self.spec["expectedServerInfo"], self.spec.get("version"))
        if found:
            reasons = [f"{one['key']} is {one['actual']!r}, declared is {one['expected']!r}" for one in found]
            raise GateFailure("server_info", *reasons, differences=found)
        problem = pool_problem(self.info, self.spec.get("plannedMaxTotalTokens"))
        if problem:
            raise GateFailure("memory", problem)
        self.model_type = str(self._get("/model_info", 30).get("model_type") or "")
        compared = len(self.spec["expectedServerInfo"]) + ("version" in self.spec)
        self.say(f"/server_info: {compared} declared values are as declared")

    def _get(self, path, timeout):
        try:
            return self.client.get_json(path, timeout)
        except NoAnswer as error:
            self._wait_for_unit_failure()
            raise GateFailure("server_info", str(error)) from error

    def _ask_all(self, questions):
        # With the card's thinking values every question is thought about: the loops of old were in the reasoning.
        for sampling in self.samplings:
            if not ask_in_turn(functools.partial(self._ask, sampling=sampling), questions):
                self.say(f"the rest of the questions ({sampling}) is left out")
        bad = [answer for answer in self.answers if not answer["healthy"]]
        if not bad:
            return
        reasons = [
            f'{answer["question"]} ({answer["sampling"]}): {reason}; text: "{answer["excerpt"]}"'
            for answer in bad
            for reason in answer["reasons"]
        ]
        if all(answer["limitTooSmall"] for answer in bad):
            raise GateFailure("semantic probe", *reasons, limitTooSmall=True)
        rules = explain(self.info, self.model_type)
        for rule in rules:
            self.say(f"could explain it: {rule['rule']}: {rule['text']}")
        raise GateFailure("semantic probe", *reasons, rules=rules, controlRun=CONTROL_RUN, **self._nan_lines())

    def _ask(self, question, sampling):
        think = bool(question.get("think")) or sampling == "card"
        try:
            answer = ask(self.client, self.spec, question, think, sampling, self.info)
        except NoAnswer as error:
            self._wait_for_unit_failure()
            raise GateFailure("semantic probe", f"{question['id']} ({sampling}): {error}") from error
        self.answers.append(answer)
        verdict = "healthy" if answer["healthy"] else "; ".join(answer["reasons"])
        self.say(f"{question['id']} ({sampling}{', thinking' if think else ''}): {verdict}")
        return answer

    def _nan_lines(self):
        lines = [line.strip()[:300] for line in self.watch.journal.lines if fatal_lines.is_nan_report(line)]
        return {"nanLines": lines[-3:]} if lines else {}

    def _wait_for_unit_failure(self):
        """A broken connection usually means a dying server: its own last words say more. Raises UnitError when it died."""
        for _ in range(5):
            self.watch.check()
            time.sleep(min(1.0, self.poll_seconds))

    def _still_the_same(self):
        self.watch.check()
        self._check_owner()


class FollowerGate(Gate):
    """The gate of a node above rank 0: it is up and waits for the others. What they serve together is rank 0's gate's to ask."""

    def _whom_it_waits_for(self):
        return "it answers no questions: the gate of rank 0 holds the whole group to right answers"

    def _is_as_far_as_it_gets(self):
        return self.watch.phase is not None

    def _compare_server_info(self):
        node = self.spec["node"]
        if self.watch.phase == unit.JOINING:
            self.say(f"rank {node['rank']} of {node['count']} waits at {node['meets']}: rank 0's stack needs its `up` now")

    def _ask_all(self, questions):
        """Nobody to ask here."""

    def _still_the_same(self):
        self.watch.check()


class RouterGate(Gate):
    """The gate of a router: every replica takes part and serves the declared model, and answers through it are right."""

    # What the card's values could bring to light is the replicas' own gates' to find.
    samplings = ("temperature-0",)

    def _health(self, timeout):
        answer = super()._health(timeout)
        if answer != "200":
            return answer
        try:
            out = router.missing(self.client, self.spec["replicas"])
        except NoAnswer as error:
            return f"{error} (not yet)"
        return "; ".join(f"{url} {why}" for url, why in out.items()) or "200"

    def _compare_server_info(self):
        replicas, key = self.spec["replicas"], self.spec.get("apiKeyFile")
        try:
            infos = {url: router.server_info(url, key) for url in replicas}
        except NoAnswer as error:
            raise GateFailure("replicas", str(error)) from error
        wrong = router.wrong_models(infos, self.spec["servedModelName"])
        if wrong:
            raise GateFailure("replicas", *wrong)
        self.info = infos[replicas[0]]
        self.say(f"{len(replicas)} replicas take part and serve {self.spec['servedModelName']}")


def run(spec, poll_seconds=2.0):
    """Run the gate, print the report as the last line, return the exit code."""
    kind = RouterGate if "replicas" in spec else FollowerGate if is_follower(spec) else Gate
    report = kind(spec, poll_seconds).run()
    for reason in report.get("reasons", []):
        print(f"not healthy, {report['stage']}: {reason}", flush=True)
    print(json.dumps(report, ensure_ascii=False, sort_keys=True), flush=True)
    return 0 if report["healthy"] else 1
