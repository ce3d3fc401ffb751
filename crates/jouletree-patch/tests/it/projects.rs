//! Files that import each other: what one makes or defines is known in another, whatever the form of the import.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jouletree_patch::{Files, Options, Project, unpatched_script};

/// Files in memory, of which some are there only to be imported.
struct Memory(HashMap<PathBuf, Vec<u8>>);

impl Files for Memory {
    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        self.0.get(path).cloned()
    }
}

const MODEL: &str = "\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, hidden=4):
        super().__init__()
        self.layer = nn.Linear(2, hidden)

    def forward(self, x):
        return torch.relu(self.layer(x))

def make_optimizer(model):
    return torch.optim.Adam(model.parameters())

net = Net()
";

/// Calls of one file by line, with a mark on those that are left; the other files can be imported.
fn calls(of: &str, files: &[(&str, &str)]) -> Vec<String> {
    calls_among(of, &[of], files)
}

/// The same, when several files are patched at once.
fn calls_among(of: &str, added: &[&str], files: &[(&str, &str)]) -> Vec<String> {
    let path = |name: &str| Path::new("/project").join(name);
    let memory = Memory(files.iter().map(|(name, text)| (path(name), text.as_bytes().to_vec())).collect());
    let options = Options::default();
    let mut project = Project::new(&memory, &options);
    project.search(Path::new("/project"));
    for name in added {
        project.add_script(name, &path(name), &memory.0[&path(name)]);
    }
    let patched = project.patched();
    for one in &patched {
        let patch = one.patch.as_ref().unwrap_or_else(|error| panic!("{}: {error}", one.path.display()));
        let back = unpatched_script(&patch.applied(one.source)).expect("what was patched is a program");
        assert_eq!(back, one.source, "{}", one.path.display());
    }
    let wanted = patched.iter().find(|one| one.path == path(of)).unwrap_or_else(|| panic!("{of} is not there"));
    let sites = &wanted.patch.as_ref().expect("a patch").sites;
    let name = |site: &jouletree_patch::Site| {
        format!("{}: {}{}", site.line, if site.instrumented { "" } else { "-" }, site.name)
    };
    sites.iter().map(name).collect()
}

/// The program of `docs/patch.md`, with the import in any form; `net`, `opt` and `given` come from elsewhere.
fn check_import(import: &str, made: &str, files: &[(&str, &str)]) {
    let train = format!("{import}\n{made}\nnet(1)\nnet.parameters()\nopt.step()\n");
    let at = import.lines().count() as u32 + 1 + made.lines().count() as u32;
    let all: Vec<(&str, &str)> = [("train.py", train.as_str())].into_iter().chain(files.iter().copied()).collect();
    let found = calls("train.py", &all);
    let expected = [
        format!("{at}: torch.nn.Module.__call__"),
        format!("{}: torch.nn.Module.parameters", at + 1),
        format!("{}: torch.optim.Adam.step", at + 2),
    ];
    assert!(expected.iter().all(|one| found.contains(one)), "{found:?}\n{train}");
}

#[test]
fn every_form_of_import_tells_what_names_stand_for() {
    let model = [("model.py", MODEL)];
    let plain = "net = Net()\nopt = make_optimizer(net)";
    let dotted = "net = model.Net()\nopt = model.make_optimizer(net)";
    check_import("from model import Net, make_optimizer", plain, &model);
    check_import("from model import Net as N, make_optimizer as m", "net = N()\nopt = m(net)", &model);
    check_import("import model", dotted, &model);
    check_import("import model as m", "net = m.Net()\nopt = m.make_optimizer(model=net)", &model);
    check_import("from model import *", plain, &model);
    check_import("from model import net, make_optimizer", "opt = make_optimizer(net)", &model);
    check_import(
        "import importlib",
        "model = importlib.import_module('model')\nnet = model.net\nopt = model.make_optimizer(net)",
        &model,
    );
    check_import(
        "import sys",
        "def f():\n  from model import Net, make_optimizer\n  return Net(), make_optimizer(None)\nnet, opt = f()",
        &model,
    );
    check_import(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n  from model import Net, make_optimizer",
        plain,
        &model,
    );
    check_import("try:\n  import model\nexcept ImportError:\n  model = None", dotted, &model);
}

#[test]
fn packages_are_found_with_and_without_a_file_of_their_own() {
    let dotted = "net = pkg.model.Net()\nopt = pkg.model.make_optimizer(net)";
    let plain = "net = Net()\nopt = make_optimizer(net)";
    let own: &[(&str, &str)] = &[("pkg/__init__.py", ""), ("pkg/model.py", MODEL)];
    let without: &[(&str, &str)] = &[("pkg/model.py", MODEL)];
    for files in [own, without] {
        check_import("import pkg.model", dotted, files);
        check_import("import pkg.model as m", "net = m.Net()\nopt = m.make_optimizer(net)", files);
        check_import("from pkg.model import Net, make_optimizer", plain, files);
        check_import("from pkg.model import *", plain, files);
        check_import("from pkg import model", "net = model.Net()\nopt = model.make_optimizer(net)", files);
    }
    let deep = [("a/b/c/model.py", MODEL), ("a/b/__init__.py", "from .c.model import Net, make_optimizer\n")];
    check_import("from a.b import Net, make_optimizer", plain, &deep);
    check_import("import a.b", "net = a.b.Net()\nopt = a.b.make_optimizer(net)", &deep);
    check_import("import a.b.c.model", "net = a.b.c.model.Net()\nopt = a.b.make_optimizer(net)", &deep);
}

#[test]
fn packages_hand_on_what_their_files_define() {
    let plain = "net = Net()\nopt = make_optimizer(net)";
    for initial in [
        "from .model import Net, make_optimizer\n",
        "from .model import *\n",
        "from pkg.model import Net, make_optimizer\n",
        "from . import model\nNet = model.Net\nmake_optimizer = model.make_optimizer\n",
        "from .inner import *\n",
    ] {
        let files = [
            ("pkg/__init__.py", initial),
            ("pkg/model.py", MODEL),
            ("pkg/inner/__init__.py", "from ..model import *\n"),
        ];
        check_import("from pkg import Net, make_optimizer", plain, &files);
        check_import("import pkg", "net = pkg.Net()\nopt = pkg.make_optimizer(net)", &files);
    }
    // A function that is named as its file is the function.
    let named = [
        ("pkg/__init__.py", "from .make import make\n"),
        ("pkg/make.py", "import torch\ndef make():\n  return torch.nn.Linear(1, 1)\n"),
    ];
    let train = ("train.py", "from pkg import make\nmake()(1)\n");
    assert_eq!(calls("train.py", &[&[train], named.as_slice()].concat()), ["2: torch.nn.Linear.__call__"]);
}

#[test]
fn relative_imports_are_relative_to_the_file() {
    let trainer = "from .model import Net\nfrom ..losses import loss\nfrom .. import losses as l\nnet = Net()\nloss(net(1)).backward()\nl.loss(2)\n";
    let files = [
        ("app/core/trainer.py", trainer),
        ("app/core/model.py", MODEL),
        ("app/core/__init__.py", ""),
        ("app/__init__.py", ""),
        ("app/losses.py", "import torch.nn.functional as F\ndef loss(x):\n  return F.mse_loss(x, 0)\n"),
    ];
    assert_eq!(
        calls("app/core/trainer.py", &files),
        ["4: torch.nn.Module", "5: torch.Tensor.backward", "5: torch.nn.Module.__call__"],
    );
    // Beyond the top there is nothing, and nothing happens.
    assert_eq!(calls("a.py", &[("a.py", "from ......x import y\nfrom ... import z\ny()\nz.fit()\n")]), [""; 0]);
}

#[test]
fn what_one_file_passes_another_knows() {
    let engine = "\
def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = model(x)
        loss.backward()
        optimizer.step()
";
    let main = "\
import torch
from model import Net
from engine import train
net = Net()
loader = torch.utils.data.DataLoader([])
train(net, loader, optimizer=torch.optim.SGD(net.parameters()))
";
    let files = [("main.py", main), ("engine.py", engine), ("model.py", MODEL)];
    assert_eq!(
        calls("engine.py", &files[1..]),
        [""; 0],
        "a file that imports no library and that is never called adds nothing"
    );
    assert_eq!(
        calls_among("engine.py", &["main.py"], &files),
        [
            "3: torch.optim.SGD.zero_grad",
            "4: torch.nn.Module.__call__",
            "5: torch.Tensor.backward",
            "6: torch.optim.SGD.step",
        ]
    );
    assert_eq!(calls_among("engine.py", &["engine.py", "main.py"], &files).len(), 4);
}

#[test]
fn classes_go_on_in_other_files() {
    let base = "import torch.nn as nn\nclass Base(nn.Module):\n  def __init__(self):\n    super().__init__()\n    self.head = nn.Linear(1, 1)\n    self.log = []\n";
    let child = "from base import Base\nclass Child(Base):\n  def forward(self, x):\n    return self.head(x)\n  def size(self): return self.log.append(1)\n";
    let main = "import child\nc = child.Child()\nc.eval()\nc(1).sum()\nc.extra = c.head\nc.extra(2)\n";
    let files = [("base.py", base), ("child.py", child), ("main.py", main)];
    assert_eq!(
        calls("main.py", &files),
        [
            "2: torch.nn.Module",
            "3: torch.nn.Module.eval",
            "4: torch.nn.Module.__call__",
            "4: torch.Tensor.sum",
            "6: torch.nn.Linear.__call__",
        ]
    );
    assert_eq!(calls("child.py", &files), ["4: torch.nn.Linear.__call__"]);
}

#[test]
fn modules_are_tables_and_can_be_written_to() {
    let zoo =
        "import torch.nn as nn\nclass Small(nn.Module): pass\nclass Large(nn.Module): pass\ndef _hidden(): pass\n";
    let main = "import zoo, config\nimport setup\nnet = getattr(zoo, input())()\nnet.train()\nconfig.model.fit(1)\nconfig.REGISTRY['a'](1)\n";
    let files = [
        ("main.py", main),
        ("zoo.py", zoo),
        ("config.py", "import torch\nmodel = None\nREGISTRY = {}\n"),
        (
            "setup.py",
            "import config\nimport keras, torch\nconfig.model = keras.Sequential()\nconfig.REGISTRY['a'] = torch.ones\n",
        ),
    ];
    assert_eq!(
        calls("main.py", &files),
        ["3: torch.nn.Module", "4: torch.nn.Module.train", "5: keras.Sequential.fit", "6: torch.ones"]
    );
}

#[test]
fn circles_of_imports_end() {
    let files = [
        ("a.py", "import b\nimport torch\ndef make(): return torch.nn.Linear(1, 1)\nb.use()(2)\n"),
        ("b.py", "import a\nfrom a import make\nimport b\ndef use(): return make()\nuse()(1)\na.make()(3)\n"),
        ("c.py", "from d import *\nx()\n"),
        ("d.py", "from c import *\nfrom d import *\n"),
    ];
    assert_eq!(calls("a.py", &files), ["3: torch.nn.Linear", "4: torch.nn.Linear.__call__"]);
    assert_eq!(calls("b.py", &files), ["5: torch.nn.Linear.__call__", "6: torch.nn.Linear.__call__"]);
    assert_eq!(calls("c.py", &files), [""; 0]);
}

#[test]
fn a_name_is_a_librarys_only_where_it_is_the_librarys() {
    let utils = "def load(path): return open(path)\nclass Module: pass\n";
    let files = [
        (
            "main.py",
            "import torch_utils, utils.torch\nfrom torch_utils import load\nload('a')\ntorch_utils.Module()\nutils.torch.load('b')\nfrom .torch import load\nload('c')\nimport torch\ntorch.load('d')\n",
        ),
        ("torch_utils.py", utils),
        ("utils/torch.py", utils),
        ("torch.py", utils),
    ];
    // A file `torch.py` does not take the library's name away; a relative import means the file.
    assert_eq!(calls("main.py", &files), ["9: torch.load"]);
    // Python's order: a package before a file, and both before a folder.
    let files = [
        ("main.py", "import m, n\nm.f()(1)\nn.f()(1)\n"),
        ("m/__init__.py", "import torch\ndef f(): return torch.nn.Linear(1, 1)\n"),
        ("m.py", "def f(): return print\n"),
        ("n.py", "import torch\ndef f(): return torch.nn.Bilinear(1, 1)\n"),
        ("n/f.py", ""),
    ];
    assert_eq!(calls("main.py", &files), ["2: torch.nn.Linear.__call__", "3: torch.nn.Bilinear.__call__"]);
}

#[test]
fn what_is_missing_or_broken_is_unknown_to_others() {
    let main = "import gone, broken, latin\nfrom gone.inner import x\nfrom broken import y\nfrom pkg import gone as z\nimport torch\nx(); y(); z(); gone.f(); broken.g()\nlatin.net(torch.ones(1))\n";
    let path = |name: &str| Path::new("/project").join(name);
    let mut files = HashMap::from([
        (path("main.py"), main.as_bytes().to_vec()),
        (path("broken.py"), b"def (:\n".to_vec()),
        (path("pkg/__init__.py"), b"\xff\xfe".to_vec()),
        (
            path("latin.py"),
            b"# coding: latin-1\nimport torch\nname = '\xe9'\nnet = torch.nn.Linear(1, 1)\n".to_vec(),
        ),
    ]);
    files.insert(path("deep.py"), format!("x = {}1{}\n", "(".repeat(9_000), ")".repeat(9_000)).into_bytes());
    let memory = Memory(files);
    let options = Options::default();
    let mut project = Project::new(&memory, &options);
    for name in ["main.py", "broken.py"] {
        project.add_script(name, &path(name), &memory.0[&path(name)]);
    }
    let patched = project.patched();
    let of = |name: &str| &patched.iter().find(|one| one.path == path(name)).expect("a result").patch;
    let names: Vec<&str> = of("main.py").as_ref().expect("a patch").sites.iter().map(|site| &*site.name).collect();
    assert_eq!(names, ["torch.nn.Linear.__call__", "torch.ones"]);
    let error = of("broken.py").as_ref().expect_err("an error").to_string();
    assert!(error.starts_with("1:4: "), "{error}");
}

#[test]
fn what_is_traced_in_one_file_is_left_in_another() {
    let ops = "\
import tensorflow as tf
import torch
def scale(x): return tf.abs(helper(x))
def helper(x): return tf.exp(x)
def eager(x): return tf.exp(x)
def parse(x): return tf.io.parse_tensor(x)
def scripted(x): return torch.relu(x)
class Net(torch.nn.Module):
  def forward(self, x): return torch.relu(x)
";
    let train = "\
import tensorflow as tf
import torch
import ops
from ops import scripted
step = tf.function(ops.scale)
data = tf.data.Dataset.range(3).map(ops.parse)
fast = torch.jit.script(scripted)
net = torch.jit.script(ops.Net())
ops.eager(step(1))
";
    let files = [("train.py", train), ("ops.py", ops)];
    let expected = [
        "3: -tensorflow.abs",
        "4: -tensorflow.exp",
        "5: tensorflow.exp",
        "6: -tensorflow.io.parse_tensor",
        "7: -torch.relu",
        "9: -torch.relu",
    ];
    assert_eq!(calls_among("ops.py", &["train.py"], &files), expected);
    assert_eq!(calls_among("ops.py", &["ops.py", "train.py"], &files), expected);
}

#[test]
fn a_neighbour_tells_of_what_it_imports() {
    let path = |name: &str| Path::new("/project").join(name);
    let ops = "import torch\ndef scripted(x): return torch.relu(x)\n";
    let memory = Memory(HashMap::from([
        (path("middle.py"), b"from ops import scripted\n".to_vec()),
        (path("train.py"), b"import torch, middle\ntorch.jit.script(middle.scripted)\n".to_vec()),
        (path("other.py"), b"import torch\ntorch.jit.script(scripted)\n".to_vec()),
    ]));
    let options = Options::default();
    let left = |neighbours: &[&str]| {
        let mut project = Project::new(&memory, &options);
        project.add_script("ops.py", &path("ops.py"), ops.as_bytes());
        neighbours.iter().for_each(|name| project.add_neighbour(&path(name), &memory.0[&path(name)]));
        let patched = project.patched();
        assert_eq!(patched.len(), 1, "neighbours are not patched");
        patched[0].patch.as_ref().expect("a patch").sites.iter().filter(|site| !site.instrumented).count()
    };
    assert_eq!((left(&[]), left(&["other.py"]), left(&["train.py"])), (0, 0, 1));
}

#[test]
fn notebooks_import_the_files_beside_them() {
    let path = |name: &str| Path::new("/project").join(name);
    let memory = Memory(HashMap::from([(path("model.py"), MODEL.as_bytes().to_vec())]));
    let cell = "{\"cell_type\":\"code\",\"source\":[\"from model import Net\\n\",\"net = Net()\\n\",\"net(1)\"]}";
    let notebook = format!("{{\"cells\":[{cell}]}}");
    let options = Options::default();
    let mut project = Project::new(&memory, &options);
    project.add_notebook("a.ipynb", &path("a.ipynb"), notebook.as_bytes());
    let patched = project.patched();
    let of = patched.iter().find(|one| !one.is_followed).expect("the notebook");
    let sites = &of.patch.as_ref().expect("a patch").sites;
    let names: Vec<(u32, &str)> = sites.iter().map(|site| (site.line, &*site.name)).collect();
    assert_eq!(names, [(2, "torch.nn.Module"), (3, "torch.nn.Module.__call__")]);
}

#[test]
fn the_digest_tells_tables_of_sites_apart() {
    let path = |name: &str| Path::new("/project").join(name);
    let main = "from model import Net\nNet()(1)\n";
    let digest = |files: &[(&str, &str)]| {
        let memory = Memory(files.iter().map(|(name, text)| (path(name), text.as_bytes().to_vec())).collect());
        let options = Options::default();
        let mut project = Project::new(&memory, &options);
        project.add_script("main.py", &path("main.py"), main.as_bytes());
        project.patched()[0].patch.as_ref().expect("a patch").digest.clone()
    };
    let with = digest(&[("model.py", MODEL)]);
    assert_ne!(with, digest(&[]), "the same file has other sites without its neighbour");
    assert_eq!(with, digest(&[("model.py", MODEL)]));
}

#[test]
fn a_table_is_filled_by_decorators_in_other_files() {
    let files = [
        ("main.py", "import models\nfrom registry import create\nnet = create('a')\nnet.eval()\nnet(1)\n"),
        (
            "registry.py",
            "ALL = {}\ndef register(name):\n  def wrap(cls):\n    ALL[name] = cls\n    return cls\n  return wrap\n\
             def create(name, **k):\n  return ALL[name](**k)\n",
        ),
        (
            "models.py",
            "from torch import nn\nfrom registry import register\n@register('a')\nclass A(nn.Module): pass\n",
        ),
    ];
    assert_eq!(calls("main.py", &files), ["4: torch.nn.Module.eval", "5: torch.nn.Module.__call__"]);
    assert_eq!(calls_among("registry.py", &["main.py"], &files), ["8: torch.nn.Module"]);
}

#[test]
fn a_decorator_of_another_file_may_compile() {
    let files = [
        ("main.py", "import tensorflow as tf\nfrom tools import fast\n@fast\ndef f(x): return tf.abs(x)\nf(1)\n"),
        ("tools.py", "import tensorflow as tf\ndef fast(f): return tf.function(f)\n"),
    ];
    assert_eq!(calls("main.py", &files), ["4: -tensorflow.abs", "5: tensorflow.function.__call__"]);
}

#[test]
fn values_flow_through_many_files_in_both_directions() {
    let mut files: Vec<(String, String)> = (1..60)
        .map(|n| {
            let before = n - 1;
            let text = format!("import m{before}\ndef give(x): return m{before}.give(x)\ndef take(x): x.fit(1)\n");
            (format!("m{n}.py"), text)
        })
        .collect();
    files.push(("m0.py".to_owned(), "def give(x):\n  x.compile()\n  return x\n".to_owned()));
    files.push(("main.py".to_owned(), "import keras, m59\nm59.give(keras.Sequential()).fit(2)\n".to_owned()));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(calls("main.py", &files), ["2: keras.Sequential.fit", "2: keras.Sequential"]);
    assert_eq!(calls_among("m0.py", &["main.py"], &files), ["2: keras.Sequential.compile"]);
}
