//! What names refer to: imports, scopes, objects, classes, parameters, factories, containers, tracing.

use crate::common;

use common::{body, names, patch_with, reason};
use jouletree_patch::Options;

fn check(source: &str, expected: &[&str]) {
    assert_eq!(names(source), expected, "\n{source}");
}

#[test]
fn imports_bind_what_python_binds() {
    check(
        "import tensorflow.keras.layers\nimport tensorflow.keras as k\nfrom tensorflow.keras import layers as l, Model\n\
         tensorflow.keras.layers.Dense(1)\nk.Input(1)\nl.Dense(1)\nModel()\nfrom torch import *\nrandn(3)\nprint(len(x))\n",
        &[
            "4: tensorflow.keras.layers.Dense",
            "5: tensorflow.keras.Input",
            "6: tensorflow.keras.layers.Dense",
            "7: tensorflow.keras.Model",
            "9: -torch.randn",
        ],
    );
    assert_eq!(reason("from torch import *\nrandn(3)\n", 2), "the name may come from `import *`");
    check(
        "import tensorflow_hub as hub\nhub.load('x')\nfrom .torch import x\nx()\nimport mytorch\nmytorch.x()\n",
        &[],
    );
    let hub =
        Options { libraries: vec!["tensorflow_hub".to_owned(), "torch.nn".to_owned()], ..Options::default() };
    let source = "import tensorflow_hub as hub, torch\nhub.load('x')\ntorch.nn.Linear(1, 1)\ntorch.ones(1)\n";
    let found: Vec<String> = patch_with(source, &hub).sites.into_iter().map(|site| site.name).collect();
    assert_eq!(found, ["tensorflow_hub.load", "torch.nn.Linear"]);
}

#[test]
fn names_belong_to_scopes() {
    check(
        "import torch\ndef f(torch):\n  torch.x()\ndef g():\n  torch = 1\n  torch.x()\ndef h():\n  torch.x()\n\
         class A:\n  torch = None\n  def m(self): torch.x()\n[torch.x() for torch in y]\ntorch.x()\n",
        &["8: torch.x", "11: torch.x", "13: torch.x"],
    );
    check(
        "import torch\nmodel = None\ndef make():\n  global model\n  model = torch.nn.Linear(1, 1)\nmake()\nmodel(x)\n",
        &["5: torch.nn.Linear", "7: torch.nn.Linear.__call__"],
    );
    check(
        "import torch\ndef outer():\n  m = None\n  def inner():\n    nonlocal m\n    m = torch.nn.ReLU()\n  inner()\n  return m(1)\n",
        &["6: torch.nn.ReLU", "8: torch.nn.ReLU.__call__"],
    );
}

#[test]
fn a_name_means_what_was_last_assigned() {
    check(
        "import tensorflow as tf\nx = tf.constant(1)\nx = x.numpy()\nx.mean()\ny = tf.ones(2)\nif a:\n  y = 3\ny.sum()\n",
        &[
            "2: tensorflow.constant",
            "3: tensorflow.Tensor.numpy",
            "5: tensorflow.ones",
            "8: tensorflow.Tensor.sum",
        ],
    );
    check(
        "import torch\nx = None\nfor i in range(3):\n  if x is not None:\n    x.sum()\n  x = torch.ones(1)\n",
        &["5: torch.Tensor.sum", "6: torch.ones"],
    );
}

#[test]
fn objects_keep_their_type() {
    check(
        "from tensorflow.keras import Sequential\nmodel = Sequential()\nmodel.compile()\nh = model.fit(x)\n\
         h.history['loss'].index(1)\nmodel.layers[0].get_weights()\nmodel(x)\nalias = model\nalias.fit\nalias.predict(x).mean()\n",
        &[
            "2: tensorflow.keras.Sequential",
            "3: tensorflow.keras.Sequential.compile",
            "4: tensorflow.keras.Sequential.fit",
            "6: tensorflow.keras.Sequential.layers[].get_weights",
            "7: tensorflow.keras.Sequential.__call__",
            "10: tensorflow.keras.Sequential.predict",
        ],
    );
    check(
        "import torch\nfor i, (x, y) in enumerate(torch.utils.data.DataLoader(d)):\n  x.to('cpu')\n  (x * 2 + 1).sum()\n\
         a, b = torch.split(x, 2)\na.sum(); (x == y).sum().item()\n",
        &[
            "2: torch.utils.data.DataLoader",
            "3: torch.utils.data.DataLoader[].to",
            "4: torch.utils.data.DataLoader[].sum",
            "5: torch.split",
            "6: torch.split[].sum",
            "6: torch.utils.data.DataLoader[].sum",
            "6: torch.utils.data.DataLoader[].sum.item",
        ],
    );
}

#[test]
fn subclasses_are_the_librarys_where_they_do_not_say_otherwise() {
    check(
        "import torch.nn as nn\nclass Net(nn.Module):\n  def __init__(self):\n    super().__init__()\n    self.a = nn.Linear(1, 1)\n\
        \x20 def forward(self, x):\n    return self.helper(self.a(x)).relu()\n  def helper(self, x):\n    return x.abs()\n\
         class Deep(Net):\n  def more(self):\n    return self.a(1), self.parameters()\nnet = Deep()\nnet(1).sum()\nnet.more()\nnet.train()\n\
         class Own:\n  def __init__(self): self.net = Net()\n  def __call__(self, x): return self.net(x)\nown = Own()\nown(1)\n",
        &[
            "4: torch.nn.Module.__init__",
            "5: torch.nn.Linear",
            "7: torch.Tensor.relu",
            "7: torch.nn.Linear.__call__",
            "9: torch.Tensor.abs",
            "12: torch.nn.Linear.__call__",
            "12: torch.nn.Module.parameters",
            "13: torch.nn.Module",
            "14: torch.nn.Module.__call__",
            "14: torch.Tensor.sum",
            "16: torch.nn.Module.train",
            "18: torch.nn.Module",
            "19: torch.nn.Module.__call__",
        ],
    );
}

#[test]
fn values_flow_through_functions() {
    check(
        "import tensorflow as tf\ndef make(n=2):\n  m = tf.keras.Sequential()\n  return m, n\ndef train(model, data, *more, **named):\n\
        \x20 model.fit(data)\n  more[0].close()\n  named['key'].save()\nm, _ = make()\ntrain(m, 1, m, key=m)\n\
         def typed(m: tf.keras.Model, o: 'tf.Variable' = None, s: list[tf.Tensor] = ()):\n  m.save(); o.assign(1)\n  for t in s: t.numpy()\n\
         def unknown(model):\n  model.fit(1)\n",
        &[
            "3: tensorflow.keras.Sequential",
            "6: tensorflow.keras.Sequential.fit",
            "7: tensorflow.keras.Sequential.close",
            "8: tensorflow.keras.Sequential.save",
            "12: tensorflow.keras.Model.save",
            "12: tensorflow.Variable.assign",
            "13: tensorflow.Tensor.numpy",
            "15: -?.fit",
        ],
    );
    check(
        "import torch\nfrom functools import partial\nfrom contextlib import contextmanager\nadd = partial(torch.add, 1)\nadd(2)\n\
         OPT = {'a': torch.optim.Adam, 's': torch.optim.SGD}\nOPT[name](p)\nOPT['s'](p)\n@contextmanager\ndef c():\n  yield torch.ones(1)\n\
         with c() as t: t.sum()\nwith torch.no_grad(), open('f') as g: g.read()\ngetattr(torch, name)(1)\ngetattr(torch, 'ones')(1)\n\
         layers = []\nlayers.append(torch.nn.ReLU())\nfor l in layers: l(1)\nasync def a(): return torch.ones(1)\nasync def b(): (await a()).sum()\n",
        &[
            "5: torch.add",
            "7: torch.optim.Adam|torch.optim.SGD",
            "8: torch.optim.SGD",
            "11: torch.ones",
            "12: torch.Tensor.sum",
            "13: torch.no_grad",
            "14: -torch.?",
            "15: torch.ones",
            "17: torch.nn.ReLU",
            "18: torch.nn.ReLU.__call__",
            "19: torch.ones",
            "20: torch.Tensor.sum",
        ],
    );
}

#[test]
fn traced_code_is_listed_and_left() {
    let source = "import tensorflow as tf\nimport jax, torch\nfrom functools import partial\n@tf.function\ndef step(x):\n  return helper(tf.abs(x))\n\
         def helper(x): return tf.exp(x)\ndef eager(x): return tf.exp(x)\neager(step(1))\n@partial(jax.jit, static_argnums=0)\n\
         def j(x): return jax.numpy.abs(x)\nf = jax.grad(lambda x: jax.numpy.sum(x))\nf(1)\nds = tf.data.Dataset.range(3).map(lambda x: tf.abs(x))\n\
         class L(tf.keras.layers.Layer):\n  def __init__(self): super().__init__()\n  def call(self, x): return tf.abs(x)\nL()(1)\n\
         class C(tf.keras.callbacks.Callback):\n  def on_epoch_end(self, e, logs=None): tf.print(e)\n\
         class N(torch.nn.Module):\n  def forward(self, x): return torch.abs(x)\ntorch.compile(N())(1)\n";
    check(
        source,
        &[
            "6: -tensorflow.abs",
            "7: -tensorflow.exp",
            "8: tensorflow.exp",
            "9: tensorflow.function.__call__",
            "11: -jax.numpy.abs",
            "12: jax.grad",
            "12: -jax.numpy.sum",
            "13: jax.grad.__call__",
            "14: tensorflow.data.Dataset.range",
            "14: tensorflow.data.Dataset.map",
            "14: -tensorflow.abs",
            "16: tensorflow.keras.layers.Layer.__init__",
            "17: -tensorflow.abs",
            "18: tensorflow.keras.layers.Layer",
            "18: tensorflow.keras.layers.Layer.__call__",
            "20: tensorflow.print",
            "22: -torch.abs",
            "23: torch.compile",
            "23: torch.nn.Module.__call__",
            "23: torch.nn.Module",
        ],
    );
    let run = "import tensorflow as tf\ns = tf.distribute.MirroredStrategy()\ndef step(x): return tf.abs(x)\n\
               @tf.function\ndef all(x): return s.run(step, args=(x,))\n";
    assert_eq!(reason(run, 3), "traced: called from traced code");
    assert_eq!(reason(source, 6), "traced by tensorflow.function");
    assert_eq!(reason(source, 7), "traced: called from traced code");
    assert_eq!(reason(source, 17), "traced: tensorflow.keras.layers.Layer calls call() while it compiles");
}

#[test]
fn a_compiled_class_is_traced_with_all_its_methods() {
    let source = "\
import torch


@torch.jit.script
class Pair:
    def __init__(self, a: torch.Tensor):
        self.a = torch.relu(a)

    def total(self):
        return torch.sum(self.a)


print(torch.ones(2))
";
    assert_eq!(reason(source, 7), "traced by torch.jit.script");
    assert_eq!(reason(source, 10), "traced by torch.jit.script");
    assert!(body(source).contains("print(__jouletree_call__(2, torch.ones)(2))"), "{}", body(source));
}

#[test]
fn a_module_that_is_moved_is_still_the_module() {
    let program = "import torch\nfrom torch import nn\nclass Net(nn.Module):\n  def forward(self, x): return torch.relu(x)\n  \
                   def features(self, x): return torch.tanh(x)\nnet = Net().to('cpu').train()\nnet.features(1).sum()\n\
                   class Kept(nn.Module):\n  def eval(self): return torch.ones(1)\nKept().eval().sum()\n\
                   nn.Linear(1, 2).cuda()(3).max()\nfor p in net.float().parameters(): p.zero_()\n";
    check(
        program,
        &[
            "4: torch.relu",
            "5: torch.tanh",
            "6: torch.nn.Module",
            "6: torch.nn.Module.to",
            "6: torch.nn.Module.train",
            "7: torch.Tensor.sum",
            "9: torch.ones",
            "10: torch.nn.Module",
            "10: torch.Tensor.sum",
            "11: torch.nn.Linear",
            "11: torch.nn.Linear.cuda",
            "11: torch.nn.Linear.__call__",
            "11: torch.Tensor.max",
            "12: torch.nn.Module.float",
            "12: torch.nn.Module.parameters",
            "12: torch.nn.Module.parameters[].zero_",
        ],
    );
    // What is compiled after it was moved is traced, too.
    check(
        "import torch\nclass Net(torch.nn.Module):\n  def forward(self, x): return torch.relu(x)\n\
         net = torch.compile(Net().to('cpu'))\n",
        &["3: -torch.relu", "4: torch.compile", "4: torch.nn.Module", "4: torch.nn.Module.to"],
    );
}

#[test]
fn functions_get_their_arguments_from_those_who_call_them() {
    check(
        "import threading, torch, asyncio\nfrom functools import reduce\nfrom concurrent.futures import ThreadPoolExecutor\n\
         def work(net): net.eval()\ndef other(net, x=1): net.train()\ndef rank(i, net): net.cpu()\n\
         n = torch.nn.Linear(1, 1)\nthreading.Thread(target=work, args=(n,)).start()\n\
         with ThreadPoolExecutor() as pool:\n  pool.submit(other, n)\n  f = pool.submit(torch.ones, 1)\n  f.result().sum()\n  for o in pool.map(lambda m: m(1), [n]): o.sum()\n\
         torch.multiprocessing.spawn(rank, args=(n,))\nreduce(lambda a, b: a.add(b), [torch.ones(1)]).mean()\n\
         async def main(): await asyncio.to_thread(work, n)\nn.register_forward_hook(lambda m, i, o: o.detach())\n",
        &[
            "4: torch.nn.Linear.eval",
            "5: torch.nn.Linear.train",
            "6: torch.nn.Linear.cpu",
            "7: torch.nn.Linear",
            "12: torch.Tensor.sum",
            "13: torch.nn.Linear.__call__",
            "13: torch.Tensor.sum",
            "14: torch.multiprocessing.spawn",
            "15: torch.Tensor.mean",
            "15: torch.Tensor.add",
            "15: torch.ones",
            "17: torch.nn.Linear.register_forward_hook",
            "17: torch.Tensor.detach",
        ],
    );
}

#[test]
fn frameworks_hand_what_their_classes_say() {
    check(
        "import torch, transformers, pytorch_lightning as pl\nfrom dataclasses import dataclass, field\n\
         class T(transformers.Trainer):\n  def compute_loss(self, model, inputs): return model(**inputs)\n\
         class C(pl.Callback):\n  def on_train_end(self, trainer, pl_module): trainer.save_checkpoint('a'); pl_module.eval()\n\
         @dataclass\nclass D:\n  loss: object = field(default_factory=torch.nn.MSELoss)\nD().loss(1, 2).backward()\n\
         def to(b):\n  if isinstance(b, dict): return {k: to(v) for k, v in b.items()}\n  return b.to('cpu')\n\
         to({'a': torch.ones(1)})\nfor row in torch.ones(2): row.sum()\n",
        &[
            "4: transformers.PreTrainedModel.__call__",
            "6: pytorch_lightning.Trainer.save_checkpoint",
            "6: pytorch_lightning.LightningModule.eval",
            "10: torch.nn.MSELoss.__call__",
            "10: torch.Tensor.backward",
            "13: torch.Tensor.to",
            "14: torch.ones",
            "15: torch.ones",
            "15: torch.Tensor.sum",
        ],
    );
}
