"""Training steps of BERT-like layers with tf.estimator, when it is this program's turn."""

import pathlib
import sys

from turns import Turns

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import bert_tf1
from bert_estimator import encode


def profile_every_step() -> None:
    """Has TensorFlow's own hook trace every step and write its file."""
    estimator = bert_tf1.tf.estimator.Estimator
    train = estimator.train

    def profiled(self, *arguments, hooks=None, **options):
        # Its writer refuses to be made where TensorFlow is eager.
        with bert_tf1.v1.Graph().as_default():
            profiler = bert_tf1.v1.train.ProfilerHook(save_steps=1, output_dir="profile")
        return train(self, *arguments, hooks=[*(hooks or []), profiler], **options)

    estimator.train = profiled


def main() -> None:
    steps, layers, hidden, batch, go, arrived = sys.argv[1:7]
    turns = Turns(go, arrived)

    class InTurn(bert_tf1.Progress):
        """The example's progress, which waits before each step."""

        def before_run(self, run_context):
            turns.wait()
            return super().before_run(run_context)

    if sys.argv[7:] == ["ProfilerHook"]:
        profile_every_step()
    words = ["--layers", layers, "--hidden", hidden, "--heads", str(int(hidden) // 64), "--seq", "64", "--batch", batch]
    sys.argv[1:] = [*words, "--steps", str(int(steps) + 1), "--stage", "pre-training"]
    bert_tf1.Progress = InTurn
    bert_tf1.run(encode, bert_tf1.arguments("BERT"))


if __name__ == "__main__":
    main()
