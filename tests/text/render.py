"""Renders templates with Jinja2 set up as Hugging Face does. Usage: render.py CASES.json > TEXTS.json"""
import datetime
import json
import sys

from jinja2.sandbox import ImmutableSandboxedEnvironment


class Refused(Exception):
    pass


def refuse(message):
    raise Refused(message)


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
environment.filters["tojson"] = to_json
environment.globals["raise_exception"] = refuse
environment.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)


def render(case):
    try:
        return {"text": environment.from_string(case["template"]).render(**case["variables"])}
    except Exception as error:  # whatever Jinja2 raises is a refusal
        return {"error": f"{type(error).__name__}: {error}"}


with open(sys.argv[1], encoding="utf-8") as file:
    json.dump([render(case) for case in json.load(file)], sys.stdout)
