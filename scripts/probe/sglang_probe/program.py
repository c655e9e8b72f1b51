"""Is the answered Python function a correct prime test? Untrusted code, so it is allowed little and runs apart.

First the syntax tree: only definitions, only listed builtins and attributes, no import but harmless ones. Then a
separate interpreter without site packages, with limits on time, memory, files and processes, runs it on known numbers.
"""

import ast
import json
import subprocess
import sys

from . import text as texts

TIME_LIMIT_SECONDS = 10
BUILTINS = (
    "abs all any bool divmod enumerate filter float int isinstance len list map max min next pow print range reversed "
    "round set sorted str sum tuple type zip dict complex iter ValueError TypeError Exception True False None"
).split()
ATTRIBUTES = set(
    "isqrt sqrt floor ceil gcd log append add extend pop insert index count get items keys values is_integer "
    "bit_length discard update remove copy sort strip isdigit join Optional Union List Iterable".split()
)
MODULES = {"math", "typing", "__future__"}
NUMBERS = {n: n > 1 and all(n % d for d in range(2, n)) for n in range(-3, 200)}
NUMBERS.update({7919: True, 7917: False, 7921: False, 10403: False, 65537: True, 999983: True, 1000000: False})

RUNNER = """
import builtins, json, math, os, resource, sys
request = json.load(sys.stdin)
for limit, value in ((resource.RLIMIT_CPU, request["seconds"]), (resource.RLIMIT_AS, 512 << 20),
                     (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_NOFILE, 16), (resource.RLIMIT_CORE, 0)):
    resource.setrlimit(limit, (value, value))
if os.geteuid() == 0:
    try:
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
    except OSError:
        pass  # a namespace without that id: the other limits stand
allowed = {name: getattr(builtins, name) for name in request["builtins"]}
allowed["print"] = lambda *values, **options: None
allowed["__import__"] = lambda name, *rest: {"math": math}[name]
names = {"__builtins__": allowed, "__name__": "answer"}
try:
    exec(compile(request["code"], "answer", "exec"), names)
    function = names[request["function"]]
    wrong = [(n, str(function(n))[:20]) for n, prime in request["numbers"] if bool(function(n)) != prime]
    result = {"wrong": wrong[:3]}
except BaseException as error:
    result = {"error": type(error).__name__ + ": " + str(error)[:120]}
sys.stdout.write(json.dumps(result))
"""


def check_prime_program(content):
    """What is wrong with the prime test in an answer, as a short text; None when it is correct."""
    source = "\n\n".join(texts.code_blocks(content)) or content
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"does not compile: {getattr(error, 'msg', error)} in line {getattr(error, 'lineno', '?')}"
    tree.body = [
        node
        for node in tree.body
        if isinstance(node, (ast.FunctionDef, ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom))
    ]
    for node in tree.body:
        _without_annotations(node)
    refused = _refused(tree)
    if refused:
        return refused
    function = _function_name(tree)
    if function is None:
        return "defines no function of one argument"
    tree.body = [node for node in tree.body if not _only_names_types(node)]
    return _run(ast.unparse(ast.fix_missing_locations(tree)), function)


def _without_annotations(node):
    """Types say nothing about correctness and would need names that are not allowed."""
    for child in ast.walk(node):
        if isinstance(child, ast.FunctionDef):
            child.returns = None
            child.decorator_list = []
        if isinstance(child, ast.arg):
            child.annotation = None


def _only_names_types(node):
    return (
        isinstance(node, ast.ImportFrom)
        and node.module in ("typing", "__future__")
        or (isinstance(node, ast.Import) and all(alias.name == "typing" for alias in node.names))
    )


def _refused(tree):
    """The first thing in the program that is not allowed, as a text."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            modules = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            for module in modules:
                if module not in MODULES:
                    return f"imports {module}, which is not allowed here (allowed: math)"
            if any("__" in alias.name for alias in node.names):
                return "imports a special name, which is not allowed here"
        elif isinstance(node, ast.Attribute) and node.attr not in ATTRIBUTES:
            return f"uses the attribute .{node.attr}, which is not allowed here"
        elif isinstance(node, ast.Name) and node.id.startswith("_") and node.id.endswith("__"):
            return f"uses the name {node.id}, which is not allowed here"
        # A class pattern of `match` reads attributes without an Attribute node.
        elif isinstance(node, (ast.ClassDef, ast.AsyncFunctionDef, ast.Global, ast.Nonlocal, ast.Match, ast.With)):
            return f"uses {type(node).__name__}, which is not allowed here"
    return None


def _function_name(tree):
    """The function to try: is_prime, or else the one whose name speaks of primes, or the last of one argument."""
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and _takes_one(node.args)]
    names += [
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    for wanted in ("is_prime", "isprime", "prime"):
        for name in names:
            if wanted in name.lower():
                return name
    return names[-1] if names else None


def _takes_one(arguments):
    required = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return required <= 1 <= len(arguments.posonlyargs) + len(arguments.args)


def _run(code, function):
    request = {
        "code": code,
        "function": function,
        "builtins": BUILTINS,
        "numbers": sorted(NUMBERS.items()),
        "seconds": TIME_LIMIT_SECONDS,
    }
    try:
        found = _in_separate_interpreter(request)
    except subprocess.TimeoutExpired:
        return f"does not end within {TIME_LIMIT_SECONDS} s"
    if found is None:
        control = {**request, "code": "def control(n): return n > 1", "function": "control", "numbers": [(2, True)]}
        if _in_separate_interpreter(control) is None:
            return "cannot be tried here: the separate, limited interpreter does not run on this machine"
        return f"does not end within {TIME_LIMIT_SECONDS} s of computing, or needs too much memory"
    if "error" in found:
        return f"fails: {texts.excerpt(found['error'])}"
    if found["wrong"]:
        return "wrong results: " + ", ".join(f"{function}({n}) is {value}" for n, value in found["wrong"])
    return None


def _in_separate_interpreter(request):
    """What the runner found, None when it was killed by a limit."""
    result = subprocess.run(
        [sys.executable, "-I", "-S", "-c", RUNNER],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_SECONDS + 5,
        check=False,
        cwd="/",
        env={},
    )
    try:
        return json.loads(result.stdout)
    except ValueError:
        return None
