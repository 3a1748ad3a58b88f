#!/usr/bin/env python3
"""Writes the planted models, questions.jsonl and template.txt into a new folder: build.py FOLDER"""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from models import MODELS, write_model
from world import write_world


def build(folder, questions):
    folder.mkdir(exist_ok=True)
    write_world(folder, questions, seed=1)
    for name in MODELS:
        write_model(name, folder / name)


if __name__ == "__main__":
    build(pathlib.Path(sys.argv[1]), questions=16)
