//! Files of settings, of CodeCarbon, of cloud-init and of ours, and what they resolve to.
#![no_main]

use jouletree_carbon::Context;
use jouletree_carbon::settings::{KEYS, Key, Layer, Sources};
use jouletree_fuzz::in_folder;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let files = [".codecarbon.config", "jouletree.toml", "cloud.json"];
    let folder = in_folder(&files, data);
    let sources = Sources {
        home: None,
        config_home: None,
        cloud_metadata: Some(folder.join("cloud.json")),
        folder: folder.to_owned(),
        environment: Vec::new(),
    };
    let (mut settings, _) = sources.read();
    // No request is made here.
    settings.set(Key::Online, "false", Layer::Flag("--online".to_owned()));
    if let Ok(text) = std::str::from_utf8(data) {
        let mut values = text.split('\n');
        for key in KEYS.into_iter().filter(|key| *key != Key::Online) {
            settings.set(key, values.next().unwrap_or_default(), Layer::Flag("fuzz".to_owned()));
        }
    }
    let Ok(context) = Context::resolve(&settings, None) else { return };
    assert!(context.facility.pue >= 1.0 && context.facility.wue >= 0.0);
    if let Some(intensity) = context.intensity {
        assert!(intensity.value.0.is_finite() && intensity.value.0 >= 0.0, "{intensity:?}");
    }
});
