//! What the operator says: trust anchors and settings, as files of one folder. Whatever stands there, nothing is ever fetched.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

/// File in the folder, and the setting that its text becomes.
const TEXTS: [(&str, &str); 4] = [
    ("trust_anchors.pem", "trust_anchors"),
    ("user_anchors.pem", "user_anchors"),
    ("allowed_list.pem", "allowed_list"),
    ("trust_config.cfg", "trust_config"),
];

/// A missing folder or file is no setting at all.
pub fn read(folder: Option<&str>) -> Result<String, String> {
    let mut settings = Map::new();
    if let Some(folder) = folder.map(Path::new) {
        if let Some(text) = text_of(&folder.join("settings.json"))? {
            settings = serde_json::from_str(&text).map_err(|error| format!("settings.json of the C2PA check: {error}"))?;
        }
        for (file, name) in TEXTS {
            if let Some(text) = text_of(&folder.join(file))? {
                set(&mut settings, "trust", name, Value::String(text))?;
            }
        }
    }
    set(&mut settings, "verify", "remote_manifest_fetch", json!(false))?;
    set(&mut settings, "verify", "ocsp_fetch", json!(false))?;
    set(&mut settings, "core", "allowed_network_hosts", json!([]))?;
    Ok(Value::Object(settings).to_string())
}

fn text_of(file: &Path) -> Result<Option<String>, String> {
    match fs::read_to_string(file) {
        Ok(text) if text.trim().is_empty() => Ok(None),
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{} of the C2PA check: {error}", file.file_name().unwrap_or_default().display())),
    }
}

fn set(settings: &mut Map<String, Value>, section: &str, name: &str, value: Value) -> Result<(), String> {
    let section_value = settings.entry(section).or_insert_with(|| json!({}));
    let members = section_value.as_object_mut().ok_or_else(|| format!("settings.json of the C2PA check: {section} must be an object"))?;
    members.insert(name.to_owned(), value);
    Ok(())
}
