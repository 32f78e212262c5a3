"""Wrong command lines: every command, its values, its files and its outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from torture.bad_input_cases import Case, Command
from torture.bad_input_world import World

# One command per line; {name} is a path of the sound world or the case's own folder, {here}.
PLAIN = """
nonsense
trian
--nonsense
train --nonsense
train nowhere
train ./nowhere
train no/such/folder
train {events}
train {model}
train {here}
train {tables} --out {events}
train {tables} --out {tables}
train {tables} --out {root}
train {tables} --out {events}/model
train {tables} --epochs 0
train {tables} --epochs -1
train {tables} --epochs many
train {tables} --epochs 1.5
train {tables} --epochs 1e3
train {tables} --epochs 99999999999999999999x
train {tables} --seed -1
train {tables} --seed x
train {tables} --width 0
train {tables} --width -8
train {tables} --width x
train {tables} --layers 0
train {tables} --layers x
train {tables} --heads 3 --width 8
train {tables} --heads 0
train {tables} --dropout 1
train {tables} --dropout nan
train {tables} --dropout x
train {tables} --feature-dropout 2
train {tables} --learning-rate nan
train {tables} --learning-rate 0
train {tables} --learning-rate inf
train {tables} --learning-rate -1
train {tables} --weight-decay nan
train {tables} --weight-decay -1
train {tables} --batch-size 0
train {tables} --batch-size x
train {tables} --neighbours 0 --batch-size 4
train {tables} --patience 0
train {tables} --task link
train {tables} --task regression
train {numbers} --task classification --class-weight nonsense
train {tables} --backbone sagee
train {tables} --features nam
train {tables} --mode papper
train {tables} --aggregation median
train {tables} --class-weight heavy
train {tables} --impute zero
train {tables} --impute nonsense
train {tables} --device toaster
train {tables} --device cuda:99
train {tables} --threads 0
train {tables} --threads x
train {tables} --missing 2
train {tables} --missing -0.5
train {tables} --missing nan
train {tables} --missing x
train {tables} --missing 1e999
train {tables} --missing 0.5 --missing-seed -4
train {tables} --release trixie
train {tables} --option num_nodes=5
train debian-mini --release trixi
train debian-mini --option nonsense=1
train debian-mini --option release
train synthetic --option num_nodes=-5
train synthetic --option num_nodes=0
train synthetic --option num_nodes=x
train synthetic --option num_nodes=1e3
train synthetic --option num_nodes=5 --option num_nodes=6
train synthetic --option homophily=nan
train synthetic --option homophily=7
train synthetic --option num_classes=0
train synthetic --option signal=inf
train {tables} --set nonsense=1
train {tables} --set schedule
train {tables} --set =
train {tables} --set =1
train {tables} --set epochs=
train {tables} --set epochs=none
train {tables} --set epochs=x
train {tables} --set epochs=nan
train {tables} --set schedule=nonsense
train {tables} --set clip_norm=nan
train {tables} --set clip_norm=-1
train {tables} --set validation_share=2
train {tables} --set skip=maybe
train {tables} --set neighbours=a,b --batch-size 4
train {tables} --set width=8 --set width=16
train {tables} --settings {here}/nowhere.json
train {tables} --settings {tables}
train {tables} --settings {events}
train {tables} --split {here}/nowhere.csv
train {tables} --split {events}
train {tables} --split {tables}/features.csv
train {tables} --checkpoint {events} --epochs 2
train {tables} --checkpoint {tables} --epochs 2
train {here}/nowhere --out {here}/model
train {tables} extra words
train --out
train {tables} --json=yes
predict
predict {here}/nowhere
predict {here} {tables}
predict {tables} {tables}
predict {events} {tables}
predict {model} {here}/nowhere
predict {model} {events}
predict {model} {model}
predict {model} nowhere
predict {model} {tables} --nodes nobody
predict {model} {tables} --nodes i0,nobody
predict {model} {tables} --nodes {here}/nowhere.csv
predict {model} {tables} --nodes {here}/nowhere.txt
predict {model} {tables} --nodes {tables}/edges.csv
predict {model} {tables} --out {here}/x.docx
predict {model} {tables} --out {here}
predict {model} {tables} --out {events}/x.csv
predict {model} {tables} --out {here}/x
predict {model} {tables} --pairs {tables}/edges.csv
predict {model} {tables} --device toaster
predict {model} {tables} --threads -1
predict {links} {tables}
predict {links} {tables} --nodes i0
predict {links} {tables} --pairs {here}/nowhere.csv
predict {links} {tables} --pairs {tables}/nodes.csv
predict {links} {tables} --pairs {tables}/feature_edges.csv
predict {links} {tables} --pairs {tables}
evaluate
evaluate {here}/nowhere {tables}
evaluate {model} {tables} --part tset
evaluate {model} {tables} --part
evaluate {model} {tables} --nodes nobody
evaluate {model} {tables} --nodes i0 --part test
evaluate {model} {tables} --nodes i23
evaluate {model} {numbers}
evaluate {regression} {tables}
evaluate {model} {tables} --missing 3
evaluate {model} {tables} --missing nan
evaluate {model} {tables} --seed -1
evaluate {model} {tables} --split {events}
evaluate {links} {tables} --part train
evaluate {links} {tables} --nodes i0
evaluate {model} {mapped} --release x
explain
explain {model}
explain {model} {tables}
explain {model} {tables} --node nobody
explain {model} {tables} --node i0 --top 0
explain {model} {tables} --node i0 --top x
explain {links} {tables} --node i0
explain {here} {tables} --node i0
explain {model} {here} --node i0
embed
embed {model} {tables}
embed {model} {tables} --out {here}/x.docx
embed {model} {tables} --out {here}
embed {model} {tables} --out {here}/x.csv --of edges
embed {model} {tables} --out {here}/x.csv --of features --nodes i0
embed {model} {tables} --out {here}/x.csv --nodes nobody
embed {here}/nowhere {tables} --out {here}/x.csv
embed {model} {here}/nowhere --out {here}/x.csv
embed {model} {tables} --out {events}/x.csv
update
update {model}
update {model} {events}
update {model} {events} --out {here}/m
update {model} {events} --out {here}/m --before {here}/nowhere
update {model} {events} --out {here}/m --before {events}
update {model} {here}/nowhere.jsonl --out {here}/m --before {tables}
update {model} {here}/nowhere --out {here}/m --before {tables}
update {model} {settings} --out {here}/m --before {tables}
update {model} {events} --out {tables} --before {tables}
update {model} {events} --out {events} --before {tables}
update {model} {events} --out {here}/m --before {changed} --strategy nonsense
update {model} {events} --out {here}/m --before {tables} --strategy ewcc
update {model} {events} --out {here}/m --before {tables} --epochs 0
update {model} {events} --out {here}/m --before {tables} --strength x
update {model} {events} --out {here}/m --before {tables} --strength nan
update {model} {events} --out {here}/m --before {tables} --strength -1
update {model} {events} --out {here}/m --before {tables} --strategy frozen --strength 3
update {model} {events} --out {here}/m --before {tables} --set nonsense=1
update {model} {events} --out {here}/m --before {tables} --set sample=0
update {model} {events} --out {here}/m --before {tables} --set sample=x
update {model} {events} --out {here}/m --before {tables} --set learning_rate=nan
update {model} {events} --out {here}/m --before {tables} --set learning_rate=-1
update {model} {events} --out {here}/m --before {tables} --new-classes maybe
update {model} {events} --out {here}/m --before {tables} --seed -1
update {model} {events} --out {here}/m --before {tables} --release trixie
update {model} {events} --out {here}/m --before {tables} --write-graph {tables}
update {model} {events} --out {here}/m --before {tables} --write-graph {model}
update {model} {events} --out {here}/m --before {tables} --write-graph {events}
update {model} {events} --out {here}/m --before {tables} --device toaster
update {model} {events} --out {here}/m --before {parquet} --option x=1
update {model} debian-mini --out {here}/m
update {model} debian-mini --out {here}/m --before-release nowhere
update {links} {events} --out {here}/m --before {tables}
update {here}/nowhere {events} --out {here}/m --before {tables}
stream {here}/nowhere
stream {events}
stream {tables}
stream {here}
stream nowhere
stream {stream} --strategy nonsense
stream {stream} --strategy ewc --strategy ewc
stream {stream} --steps 0
stream {stream} --steps x
stream {stream} --new-labels 2
stream {stream} --new-labels nan
stream {stream} --new-labels x
stream {stream} --epochs 0
stream {stream} --update-epochs 0
stream {stream} --strength nonsense
stream {stream} --strategy-set nonsense=1
stream {stream} --set nonsense=1
stream {stream} --log {tables}
stream {stream} --log {events}/x.jsonl
stream {stream} --plot {tables}
stream {stream} --plot {here}/x.docx
stream {stream} --log {settings} --epochs 1 --width 8 --strategy frozen --quiet
stream {stream} --settings {here}/nowhere.json
stream {stream} --option x=1
stream actor --data-root {here}/nowhere/at/all --steps 1 --option nonsense=1
tune {here}/nowhere
tune {tables} --trials 0
tune {tables} --trials x
tune {tables} --task nonsense
tune {tables} --log {tables}
tune {tables} --out {tables}
tune {tables} --set nonsense=1
tune {tables} --epochs 0
tune {tables} --out {events}/x.json
describe nowhere
describe {here}
describe {here}/nowhere
describe {events}
describe {tables} --release x
describe debian-mini --release x
describe debian-mini --option x
describe {tables} extra
convert {tables}
convert {here}/nowhere --out {here}/g
convert {tables} --out {events}
convert {tables} --out {model}
convert {tables} --out {here}/g --format pickle
convert {tables} --out {events}/g
convert debian-mini --out {here}/g --release x
experiment nonsense
experiment node-classificatio
experiment node-classification --only nonsense
experiment node-classification --only dataset=nowhere
experiment node-classification --only colour=red
experiment node-classification --only dataset=cora,p=x
experiment node-classification --seeds 0
experiment node-classification --jobs 0
experiment node-classification --jobs x
experiment node-classification --epochs 0
experiment node-classification --dry-run --settings {events}
report
report {here}/nowhere
report {here}
report {settings}
report {tables}
report {results} --format pdf
report {results} --out {tables}
report {results} --out {events}/report.html
datasets extra
datasets --nonsense
demo --epochs 0
demo --seed -1
demo --out {events}
demo --out {events}/demo
"""

FILES: dict[str, dict[str, str | bytes]] = {
    "train {tables} --settings {here}/s.json": {
        "list": "[]", "number": "3", "not-json": "{", "nul": b"\0", "deep": "[" * 100_000,
        "unknown": '{"nonsense": 1}', "width-text": '{"width": "wide"}',
        "width-nan": '{"width": NaN}',
        "width-null": '{"width": null, "epochs": 0}', "settings-list": '{"settings": []}',
        "settings-number": '{"settings": 3}', "rate-text": '{"learning_rate": "fast"}',
        "features-number": '{"features": 3}',
        "huge": '{"width": ' + "9" * 5000 + "}", "latin-1": b'{"\xe9": 1}',
    },
    "train {tables} --split {here}/s.csv": {
        "empty": "", "no-part": "node\ni0\n", "part": "node,part\ni0,holdout\n",
        "nobody": "node,part\nnobody,train\n", "twice": "node,part\ni0,train\ni0,test\n",
        "part-gap": "node,part\ni0,\n", "node-gap": "node,part\n,train\n",
        "no-train": "node,part\ni0,test\n", "unlabelled": "node,part\ni23,train\n",
        "nul": b"\0", "latin-1": b"node,part\n\xe9,train\n",
    },
    "predict {model} {tables} --nodes {here}/n.txt": {
        "nobody": "i0\nnobody\n", "latin-1": b"\xe9\n", "nul": b"i0\0\n",
    },
    "predict {model} {tables} --nodes {here}/n.csv": {
        "no-column": "id\ni0\n", "nobody": "node\nnobody\n", "gap": 'node\n""\n', "empty": "",
    },
    "predict {links} {tables} --pairs {here}/p.csv": {
        "nobody": "source,target\ni0,nobody\n", "gap": "source,target\ni0,\n",
        "one-column": "source\ni0\n", "ragged": "source,target\ni0\n", "empty": "",
    },
    "update {model} {here}/e.jsonl --before {tables} --out {here}/m": {
        "not-json": "{", "unknown": '{"event": "explode"}',
        "nobody": '{"event": "remove_node", "node": "z"}',
        "nan": '{"event": "add_value", "node": "i0", "feature": "z", "value": NaN}',
        "digits": '{"event": "add_node", "node": ' + "9" * 5000 + "}",
        "number-label": '{"event": "set_label", "node": "i0", "label": 1.5, "kind": "number"}',
    },
    "report {here}/r.jsonl": {
        "not-json": "{\n{\n", "list": "[]\n", "no-method": '{"dataset": "cora"}\n',
        "value-text": '{"dataset": "cora", "method": "sage", "seed": 0, "value": "high"}\n',
        "value-nan": '{"dataset": "cora", "method": "sage", "seed": 0, "value": NaN}\n',
        "value-two": '{"dataset": "cora", "method": "sage", "seed": 0, "value": 2}\n',
        "seed-text": '{"dataset": "c", "method": "m", "seed": "x"}\n',
        "latin-1": b'{"dataset": "\xe9"}\n', "nul": b"\0\n",
    },
}  # fmt: skip


def cases() -> Iterator[Case]:
    """All wrong command lines."""
    for line in PLAIN.strip().splitlines():
        yield Command(line).as_case()
    for words, contents in FILES.items():
        name = words.partition("{here}/")[2].split()[0]
        for told, content in contents.items():
            case = Command(words, _file(name, content)).as_case()
            yield Case(f"{case.name} ({told})", case.read, case.build)
    for words in (
        "describe", "train", "predict {model}", "stream", "report", "convert --out x", "predict",
        "train {tables} --settings", "train {tables} --split", "predict {model} {tables} --nodes",
        "train {tables} --out", "predict {model} {tables} --out", "train {tables} --checkpoint",
        "update {model} --out x --before {tables}", "stream {stream} --log",
        "report {results} --out",
    ):  # fmt: skip
        ending = ".csv" if words.endswith(("--out", "--split", "--nodes")) else ""
        yield Command(f"{words} {'x' * 300}{ending}").as_case()


def _file(name: str, content: str | bytes) -> Callable[[World, Path], Any]:
    data = content.encode() if isinstance(content, str) else content
    return lambda world, folder: (folder / name).write_bytes(data)
