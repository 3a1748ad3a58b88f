"""Makes Buoy's attention that of a transformers model, and gives it its own back. Imported by buoy.torch alone."""
from __future__ import annotations

from typing import Any

NAME = "buoy"


class Swapped(str):
    """The name of Buoy's attention in a configuration, with the one that stood there. A copy of the configuration, or one that was stored, has
    that one: nobody would ever give it back there."""
    before: str | None
    users: int  #: models that are watched and share the configuration

    def __new__(cls, before: str | None) -> Swapped:
        made = super().__new__(cls, NAME)
        made.before, made.users = before, 0
        return made

    def __copy__(self) -> Any:
        return self.before

    def __deepcopy__(self, memo: Any) -> Any:
        return self.before

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _same, (self.before,)


def _same(value: Any) -> Any:
    return value


def _configurations(model: Any) -> list[Any]:
    """Of the model and its parts, outer ones first: what is written into one may be passed on to those inside."""
    found: dict[int, Any] = {}
    waiting = [module.config for module in model.modules() if hasattr(module, "config")]
    while waiting:
        config = waiting.pop(0)
        if config is None or id(config) in found or not hasattr(config, "_attn_implementation"):
            continue
        found[id(config)] = config
        waiting += [getattr(config, name, None) for name in getattr(config, "sub_configs", None) or ()]
    return list(found.values())


Before = list[tuple[Any, Any]]  #: every configuration, and what stood there


def swap(model: Any) -> Before:
    """Writes Buoy's attention into every configuration of the model that takes it. Where that fails, all of them are as they were."""
    configs = _configurations(model)
    before = [(config, config._attn_implementation) for config in configs]
    try:
        if hasattr(model, "set_attn_implementation"):
            model.set_attn_implementation(NAME)
        else:
            for module in model.modules():
                if hasattr(module, "config"):
                    module.config._attn_implementation = NAME
    except BaseException:
        for config, stood in before:
            config._attn_implementation = stood
        raise
    for (config, stood), now in zip(before, [config._attn_implementation for config in configs]):
        if now == NAME:
            now = stood if isinstance(stood, Swapped) else Swapped(stood)
            now.users += 1
        config._attn_implementation = now
    return before


def swapped(before: Before) -> bool:
    """Whether any configuration took it."""
    return any(isinstance(config._attn_implementation, Swapped) for config, _ in before)


def give_back(before: Before) -> None:
    """Where another watched model shares the configuration, the last one does it."""
    wanted = []
    for config, stood in before:
        now = config._attn_implementation
        own = stood.before if isinstance(stood, Swapped) else stood
        if isinstance(now, Swapped):
            now.users -= 1
            own = now if now.users > 0 else now.before
        wanted.append((config, own))
    for config, own in wanted:
        config._attn_implementation = own
