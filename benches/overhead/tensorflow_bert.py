"""Training steps of BERT-base-like layers with tf.estimator; prints the time that each took, from its start to that of the
next, by the clock and of the processors."""

import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import bert_tf1  # noqa: E402
from bert_estimator import encode  # noqa: E402

BEGINS = []


class Timed(bert_tf1.Progress):
    """The example's progress, which also notes when steps begin."""

    def before_run(self, run_context):
        BEGINS.append((time.perf_counter(), time.process_time()))
        return super().before_run(run_context)


def main() -> None:
    steps, layers = sys.argv[1:3]
    words = ["--layers", layers, "--hidden", "768", "--heads", "12", "--seq", "64", "--batch", "8"]
    sys.argv[1:] = [*words, "--steps", str(int(steps) + 1), "--stage", "pre-training"]
    bert_tf1.Progress = Timed
    bert_tf1.run(encode, bert_tf1.arguments("BERT"))
    print(json.dumps([(w - v, c - b) for (v, b), (w, c) in zip(BEGINS, BEGINS[1:])]))


if __name__ == "__main__":
    main()
