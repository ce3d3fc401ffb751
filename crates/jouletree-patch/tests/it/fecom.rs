//! FECoM's rules: which statements it wraps, and the names it gives them. The expected names follow from its published
//! patcher; those of the data pipeline are the ones in its own patched files.

use crate::common;

use jouletree_patch::{Mode, Options};

fn names(source: &str) -> Vec<String> {
    let options = Options { libraries: vec!["tensorflow".to_owned()], mode: Mode::Fecom, ..Options::default() };
    let patch = common::patch_with(source, &options);
    assert!(patch.sites.iter().all(|site| site.instrumented));
    patch.sites.iter().map(|site| format!("{}: {}", site.line, site.name)).collect()
}

#[test]
fn chains_grow_along_assignments() {
    let source = "import tensorflow as tf\n\
        gz = tf.keras.utils.get_file('HIGGS.csv.gz', 'http://x')\n\
        ds = tf.data.experimental.CsvDataset(gz,[float(),]*(FEATURES+1), compression_type=\"GZIP\")\n\
        packed_ds = ds.batch(10000).map(pack_row).unbatch()\n\
        for features,label in packed_ds.batch(1000).take(1):\n  print(features[0])\n\
        validate_ds = packed_ds.take(N_VALIDATION).cache()\n\
        train_ds = packed_ds.skip(N_VALIDATION).take(N_TRAIN).cache()\n\
        validate_ds = validate_ds.batch(BATCH_SIZE)\n\
        train_ds = train_ds.shuffle(BUFFER_SIZE).repeat().batch(BATCH_SIZE)\n\
        lr_schedule = tf.keras.optimizers.schedules.InverseTimeDecay(\n  0.001)\n\
        lr = lr_schedule(step)\n";
    let dataset = "tensorflow.data.experimental.CsvDataset";
    let packed = format!("{dataset}.batch(10000).map(pack_row).unbatch");
    assert_eq!(
        names(source),
        [
            "2: tensorflow.keras.utils.get_file()".to_owned(),
            format!("3: {dataset}()"),
            format!("4: {packed}()"),
            format!("7: {packed}.take(N_VALIDATION).cache()"),
            format!("8: {packed}.skip(N_VALIDATION).take(N_TRAIN).cache()"),
            format!("9: {packed}.take(N_VALIDATION).cache.batch()"),
            format!("10: {packed}.skip(N_VALIDATION).take(N_TRAIN).cache.shuffle(BUFFER_SIZE).repeat().batch()"),
            "11: tensorflow.keras.optimizers.schedules.InverseTimeDecay()".to_owned(),
            "13: tensorflow.keras.optimizers.schedules.InverseTimeDecay()".to_owned(),
        ]
    );
}

#[test]
fn subclasses_go_by_their_first_base() {
    let source = "import tensorflow as tf\nfrom tensorflow.keras import Model as M\n\
        class A(tf.keras.Model):\n  def call(self, x):\n    y = tf.abs(x)\n    return tf.exp(y)\n\
        class B(A): pass\nclass C(M): pass\n\
        a = A()\na.fit(1)\nb = B(3)\nb.fit(1, x=2)\nc = C()\nc.fit()\nh = a.evaluate(2)\n";
    assert_eq!(
        names(source),
        [
            "5: tensorflow.abs()",
            "10: tensorflow.keras.Model.fit()",
            "12: tensorflow.keras.Model.fit()",
            "14: tensorflow.keras.Model.fit()",
            "15: tensorflow.keras.Model.evaluate()",
        ]
    );
}

#[test]
fn there_are_no_scopes_and_no_expressions() {
    let source = "import tensorflow as tf\nimport tensorflow.keras.layers\nmodel = tf.keras.Sequential()\n\
        def f(model):\n  model.fit(1)\n  return tf.abs(1)\n\
        x = [tf.abs(y) for y in z]\nx += tf.abs(1)\nx: int = tf.abs(1)\nwith tf.GradientTape() as tape:\n  g = tape.gradient(1)\n\
        layers.Dense(1)\nprint(tf.abs(1))\nself.model = tf.keras.Model()\nmodel2 = model.build( [1.,  'a'] )(lambda  x:x)\n\
        model2[i, 0].save(x=1)\n";
    assert_eq!(
        names(source),
        [
            "3: tensorflow.keras.Sequential()",
            "5: tensorflow.keras.Sequential.fit()",
            "12: tensorflow.keras.layers.Dense()",
            "14: tensorflow.keras.Model()",
            "15: tensorflow.keras.Model.build([1.0, 'a'])()",
            "16: tensorflow.keras.Model.build( [1.,  'a'] )[i, 0].save()",
        ]
    );
}
