"""Stand-ins for every package that SGLang imports and that its argument parser does not need.

`install(real, faked, absent)` puts a finder in front of all others: the standard library and the packages
in `real` are imported as usual, those in `absent` are not found, every other name becomes a module whose
attributes are fakes. So the result depends on the wheel alone, not on what the machine has installed.
"""

import abc
import importlib.abc
import importlib.machinery
import sys
import types


class _Nothing:
    """What a fake class and a fake value have in common: false, empty, zero, any operator gives a fake."""

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0

    def __contains__(self, _item):
        return False

    def __bool__(self):
        return False

    def __int__(self):
        return 0

    __index__ = __int__

    def __float__(self):
        return 0.0

    def __lt__(self, _other):
        return False

    __gt__ = __le__ = __ge__ = __lt__

    def __getitem__(self, _key):
        return Fake()

    def __setitem__(self, _key, _value):
        pass

    def _operate(self, *_others):
        return Fake()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _operate
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _operate
    __pow__ = __rpow__ = __neg__ = __and__ = __rand__ = __or__ = __ror__ = _operate


class FakeType(_Nothing, abc.ABCMeta):
    """Metaclass of all fakes, so that a fake class can be indexed and combined like a fake value."""

    def __getattr__(cls, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return make_fake(name)

    def register(cls, *_args, **_kwargs):
        """Hides ABCMeta.register, whose name the faked libraries use for other things."""
        return Fake()


class Fake(_Nothing, metaclass=FakeType):
    """A value, a class or a decorator that stands for anything."""

    def __new__(cls, *args, **_kwargs):
        # A decorator returns what it decorates.
        decorated = len(args) == 1 and isinstance(args[0], (types.FunctionType, type))
        if decorated and not isinstance(args[0], FakeType):
            return args[0]
        return super().__new__(cls)

    def __init__(self, *_args, **_kwargs):
        pass

    def __init_subclass__(cls, **_kwargs):
        pass

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Fake()

    def __call__(self, *args, **_kwargs):
        return Fake.__new__(Fake, *args)

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        return False


def make_fake(name):
    """A new fake class called `name`."""
    return FakeType(name, (Fake,), {})


class FakeModule(types.ModuleType):
    """A module in which every name exists but those in `missing_names`."""

    def __init__(self, name):
        super().__init__(name)
        self.__path__ = []
        self.__version__ = "0.0.0"
        self.missing_names = frozenset()

    def __getattr__(self, name):
        if (name.startswith("__") and name.endswith("__")) or name in self.missing_names:
            raise AttributeError(name)
        value = make_fake(name)
        setattr(self, name, value)
        return value


class FakeFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a fake for every module that is neither real nor absent."""

    def __init__(self, real, faked, absent):
        self._real = frozenset(real) | sys.stdlib_module_names
        self._faked = tuple(faked)
        self._absent = frozenset(absent)

    def find_spec(self, fullname, _path=None, _target=None):
        top = fullname.partition(".")[0]
        if top in self._absent:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        inside_faked = any(fullname == name or fullname.startswith(name + ".") for name in self._faked)
        if top in self._real and not inside_faked:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec):
        return FakeModule(spec.name)

    def exec_module(self, module):
        pass


def install(real, faked, absent):
    """Fake everything but the standard library and the packages in `real`.

    `faked` names modules inside real packages that are faked all the same; `absent` names top-level
    packages whose import fails, as on a machine without them.
    """
    sys.meta_path.insert(0, FakeFinder(real, faked, absent))
