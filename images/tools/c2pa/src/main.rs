//! Checks the C2PA manifest store of one source and prints the report as JSON. `c2pa [--config FOLDER] ADDRESS`

mod config;
mod format;
mod http;
mod memory;
mod source;
mod summary;

use std::io::Write;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use c2pa::{Context, Error, Reader};
use serde_json::json;

use source::{Failure, Source};

#[global_allocator]
static MEMORY: memory::Bounded = memory::Bounded::new();

/// Nested boxes are read by recursion.
const STACK: usize = 64 * 1024 * 1024;

const HELP: &str = "usage: c2pa [--config FOLDER] ADDRESS
  --config     folder with trust_anchors.pem, user_anchors.pem, allowed_list.pem, trust_config.cfg, settings.json
  --version    the version of the library";

enum Asked {
    Version,
    Help,
    Check { config: Option<String>, place: String },
}

fn read_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Asked, String> {
    let (mut config, mut place) = (None, None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--version" => return Ok(Asked::Version),
            "--config" => config = Some(arguments.next().ok_or("--config: which folder?")?),
            "--help" | "-h" => return Ok(Asked::Help),
            other if other.starts_with('-') => return Err(format!("{other} is unknown\n{HELP}")),
            other => place = Some(other.to_owned()),
        }
    }
    place.map(|place| Asked::Check { config, place }).ok_or_else(|| HELP.into())
}

/// A file that holds nothing to check.
fn nothing(remote: Option<&str>) -> String {
    let mut report = json!({ "active_manifest": null, "manifests": {}, "validation_state": null, "validation_results": null });
    // Named and never fetched.
    if let Some(remote) = remote {
        report["remote_manifest"] = json!(remote);
    }
    summary::appended(&format!("{report:#}"), &summary::none())
}

fn check(config: Option<&str>, place: &str) -> Result<String, String> {
    let settings = config::read(config)?;
    let context = Context::new().with_settings(settings.as_str()).map_err(|error| format!("settings of the C2PA check: {error}"))?;
    let failure: Failure = Arc::new(Mutex::new(None));
    let mut source = Source::open(place, &failure)?;
    let broken = || failure.lock().unwrap().as_ref().map(|text| format!("the source cannot be read: {text}"));
    let format = format::detect(&mut source).map_err(|error| broken().unwrap_or_else(|| error.to_string()))?;
    let format = format.ok_or_else(|| format!("this is none of the formats that can be checked: {}", format::KNOWN))?;
    let outcome = Reader::from_context(context).with_stream(format, &mut source);
    // Whatever came of it came of half a file.
    if let Some(text) = broken() {
        return Err(text);
    }
    match outcome {
        Ok(reader) => reader
            .json_checked()
            .map(|report| summary::appended(&report, &summary::of(&reader)))
            .map_err(|error| format!("the report cannot be made: {error}")),
        Err(Error::JumbfNotFound) => Ok(nothing(None)),
        Err(Error::RemoteManifestUrl(remote)) => Ok(nothing(Some(&remote))),
        Err(Error::UnsupportedType) => Err(format!("this kind of file cannot be checked ({format})")),
        Err(error) => Err(format!("the manifest store cannot be read: {error}")),
    }
}

fn run() -> u8 {
    let said = match read_arguments(std::env::args().skip(1)) {
        Ok(Asked::Version) => Ok(format!("c2pa {}", c2pa::VERSION)),
        Ok(Asked::Help) => Ok(HELP.to_owned()),
        Ok(Asked::Check { config, place }) => check(config.as_deref(), &place),
        Err(text) => {
            eprintln!("{text}");
            return 2;
        }
    };
    let printed = said.and_then(|text| writeln!(std::io::stdout().lock(), "{text}").map_err(|error| error.to_string()));
    match printed {
        Ok(()) => 0,
        Err(text) => {
            // One line: the last one is what the caller is told.
            eprintln!("{}", text.split_whitespace().collect::<Vec<_>>().join(" "));
            1
        }
    }
}

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let worker = std::thread::Builder::new().stack_size(STACK).spawn(run);
    match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => ExitCode::from(code),
        Ok(Err(_)) => {
            eprintln!("the library failed on this file");
            ExitCode::from(4)
        }
        Err(error) => {
            eprintln!("cannot start: {error}");
            ExitCode::from(4)
        }
    }
}
