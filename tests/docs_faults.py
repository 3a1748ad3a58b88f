"""A document full of faults: docs_test.py must find every one of them before it is believed on the real ones."""

# What must be reported, and the text that holds the fault. `{` and `}` stand for themselves.
FAULTS = {
    "unknown verb": "    $ buoy nosuchverb --limit 2\n",
    "has no flag --nosuchflag": "    $ buoy world --nosuchflag 3\n",
    "index collection search has no flag --wait": "<!-- not run: no such file -->\n\n    $ buoy index a.db search --wait 3 word\n",
    "has no flag --inline": "Text with `buoy world --inline` in it.\n",
    "./nosuchscript does not exist": "<!-- not run: builds -->\n\n    $ ./nosuchscript\n",
    "exit code 3": "    $ (exit 3)\n",
    "but this came out:\none\nthree": "    $ printf 'one\\nthree\\n'\n    one\n    two\n",
    'a command without "$ "': "    buoy world --items 1\n",
    "leads to nowhere.md": "See [nowhere](nowhere.md).\n",
    "has no heading for #away": "See [away](README.md#away).\n",
    "exit code 1: python": "```python\nraise SystemExit(1)\n```\n",
}

# Must be found right: a false alarm here is a fault too.
SOUND = """
    $ printf 'one 1.25\\ntwo\\nthree\\n'      # a remark
    one …
    …
    three
    $ cat <<'END'
    $ is no command here
    END
    … is no command here

```python
print("from Python")
```

<!-- output -->

```text
from …
```

<!-- not run "items 3": why not -->
<!-- slow "items 4" -->
<!-- run with: --items 2 --limit 1 -->

    $ buoy world --items 3 -o /nowhere/at/all
    $ buoy world --items 4 -o /nowhere/at/all
    $ buoy world --items 1 | wc -l
    1
"""
