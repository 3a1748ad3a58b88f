"""Reads a document: its blocks of code with what was said about them, its commands, its links."""
import dataclasses
import re

NOTE = re.compile(r"<!--\s*(not run|slow|run with|output)(.*?)-->\s*$")
HEREDOC = re.compile(r"<<\s*'?(\w+)'?")


@dataclasses.dataclass
class Block:
    """A block of code. `line` is where its first line stands, from 1."""
    line: int
    language: str
    lines: list
    notes: dict  # "not run", "slow", "run with", "output": the text after it

    @property
    def is_output(self):
        return "output" in self.notes

    @property
    def run_with(self):
        return self.notes.get("run with", "").lstrip(": ")

    def skips(self, command, slow):
        """Whether the command is only checked, for good or unless slow ones are asked for: all are, unless the note quotes what it is about."""
        return self.says("not run", command) or (not slow and self.says("slow", command))

    def says(self, note, command):
        if note not in self.notes:
            return False
        quoted = re.findall(r'"([^"]+)"', self.notes[note].split(": ")[0])
        return not quoted or any(text in command for text in quoted)


@dataclasses.dataclass
class Command:
    first: int  # line in its block
    text: str
    length: int  # lines, those of its continuation and its output too
    output: list

    def covers(self, line):
        return self.first <= line < self.first + self.length


def read_blocks(text):
    blocks, notes, lines = [], {}, text.split("\n")
    i = 0
    while i < len(lines):
        line = lines[i]
        note = NOTE.match(line)
        fence = re.match(r"```(\w*)\s*$", line)
        if note:
            notes[note[1]] = note[2].strip()
            i += 1
        elif fence:
            end = next(j for j in range(i + 1, len(lines)) if lines[j].startswith("```"))
            blocks.append(Block(i + 2, fence[1], lines[i + 1:end], notes))
            i, notes = end + 1, {}
        elif line.startswith("    ") and (i == 0 or not lines[i - 1].strip()):
            end = i
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            body = [l[4:] for l in lines[i:end]]
            while not body[-1].strip():
                body.pop()
            blocks.append(Block(i + 1, "", body, notes))
            i, notes = end, {}
        else:
            if line.strip():
                notes = {}
            i += 1
    return blocks


def commands_of(block):
    """The lines that begin with "$ ", each with its continuation and the output shown below it."""
    commands, i = [], 0
    while i < len(block.lines):
        if not block.lines[i].startswith("$ "):
            i += 1
            continue
        first, text = i, block.lines[i][2:]
        i += 1
        while text.endswith("\\") and i < len(block.lines):
            text += "\n" + block.lines[i]
            i += 1
        here = HEREDOC.search(text)
        while here and i < len(block.lines):
            text += "\n" + block.lines[i]
            i += 1
            if block.lines[i - 1] == here[1]:
                break
        output = []
        while i < len(block.lines) and not block.lines[i].startswith("$ "):
            output.append(block.lines[i])
            i += 1
        length = i - first
        while output and not output[-1].strip():
            output.pop()
        commands.append(Command(first, text, length, output))
    return commands


def prose(text):
    """The lines outside of blocks, numbered from 1."""
    lines = dict(enumerate(text.split("\n"), 1))
    for block in read_blocks(text):
        for number in range(block.line, block.line + len(block.lines)):
            lines.pop(number)
    return lines.items()


def inline_commands(text):
    """`buoy verb …` between backticks; placeholders such as VERB are no verbs."""
    for number, line in prose(text):
        for command in re.findall(r"`(buoy(?: [a-z-][^`]*)?)`", line):
            if command != "buoy":
                yield number, command.replace("…", "")


def anchors_of(text):
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def link_problems(text, path, root):
    """Links of the text, which stands in the file `path`, that lead nowhere."""
    for number, line in prose(text):
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = (path.parent / name) if name else path
            if not file.exists():
                yield number, f"leads to {target}, which does not exist"
            elif anchor and anchor not in anchors_of(file.read_text()):
                yield number, f"{file.relative_to(root)} has no heading for #{anchor}"
