//! What a report comes to, in a few members. All of it is what the signer says: nothing here looks at the picture.

use std::collections::{HashSet, VecDeque};

use c2pa::{Manifest, Reader, Relationship, ValidationState};
use serde_json::{Value, json};

const MOST_ACTIONS: usize = 64;
const LONGEST: usize = 256;
/// Manifests that are looked at, of a store that may name thousands.
const MOST_MANIFESTS: usize = 256;

/// By which generative tools said what they had made before there was a source type for it.
const GENERATIVE: &str = "com.adobe.generative-ai";

/// A later one says more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Declared {
    Unspecified,
    Composite,
    Generated,
}

impl Declared {
    fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::Composite => "composite",
            Self::Generated => "generated",
        }
    }
}

/// Of a file without a manifest.
pub fn none() -> Value {
    json!({ "state": "none", "signer": null, "declared_ai": null, "actions": [] })
}

pub fn of(reader: &Reader) -> Value {
    let Some(manifest) = reader.active_manifest() else { return none() };
    let state = match reader.validation_state() {
        ValidationState::Invalid => "Invalid",
        ValidationState::Valid => "Valid",
        ValidationState::Trusted => "Trusted",
    };
    let signer = manifest.signature_info().map(|info| {
        json!({ "common_name": short(info.common_name.as_deref()), "organization": short(info.issuer.as_deref()) })
    });
    json!({
        "state": state,
        "signer": signer,
        "declared_ai": declared(reader, manifest).map(Declared::name),
        "actions": actions(manifest).take(MOST_ACTIONS).map(shown).collect::<Vec<_>>(),
    })
}

/// What this manifest and those that it was made from declare. What a part declares is true of a part.
fn declared(reader: &Reader, active: &Manifest) -> Option<Declared> {
    let mut waiting = VecDeque::from([(active, false)]);
    let mut seen = HashSet::new();
    let mut most = None;
    while let Some((manifest, is_part)) = waiting.pop_front() {
        let found = own(manifest).map(|found| if is_part { found.min(Declared::Composite) } else { found });
        most = most.max(found);
        for ingredient in manifest.ingredients() {
            let part = is_part || *ingredient.relationship() != Relationship::ParentOf;
            let Some(label) = ingredient.active_manifest() else { continue };
            if seen.len() < MOST_MANIFESTS
                && seen.insert((label, part))
                && let Some(inner) = reader.get_manifest(label)
            {
                waiting.push_back((inner, part));
            }
        }
    }
    most
}

fn own(manifest: &Manifest) -> Option<Declared> {
    let by_actions = actions(manifest).filter_map(|action| match last_segment(action["digitalSourceType"].as_str()?) {
        "trainedAlgorithmicMedia" => Some(Declared::Generated),
        "compositeWithTrainedAlgorithmicMedia" => Some(Declared::Composite),
        _ => None,
    });
    let by_tool = manifest.assertions().iter().any(|assertion| assertion.label() == GENERATIVE);
    by_actions.max().max(by_tool.then_some(Declared::Unspecified))
}

fn actions(manifest: &Manifest) -> impl Iterator<Item = &Value> {
    manifest
        .assertions()
        .iter()
        .filter(|assertion| assertion.label() == "c2pa.actions" || assertion.label() == "c2pa.actions.v2")
        .filter_map(|assertion| assertion.value().ok()?["actions"].as_array())
        .flatten()
}

fn shown(action: &Value) -> Value {
    let software = &action["softwareAgent"];
    json!({
        "action": short(action["action"].as_str()),
        "when": short(action["when"].as_str()),
        "software": short(software.as_str().or(software["name"].as_str())),
        "source_type": short(action["digitalSourceType"].as_str().map(last_segment)),
    })
}

fn last_segment(address: &str) -> &str {
    address.rsplit('/').next().unwrap_or(address)
}

fn short(text: Option<&str>) -> Option<String> {
    text.map(|text| text.chars().take(LONGEST).collect())
}

/// As the last member of a report, which stands as the library made it.
pub fn appended(report: &str, summary: &Value) -> String {
    let head = report.trim_end().strip_suffix('}').unwrap_or(report).trim_end();
    let text = format!("{summary:#}").replace('\n', "\n  ");
    format!("{head},\n  \"summary\": {text}\n}}")
}
