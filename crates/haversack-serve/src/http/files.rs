//! Files that are uploaded and read by the readers of their formats.

use std::io::Write as _;
use std::path::Path;

use axum::http::{StatusCode, header};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack::Workspace;
use haversack::ingest::{IngestError, IngestRequest, IngestSummary, add_file};
use haversack_store::store::viewer::Viewer;
use multer::Multipart;
use schemars::JsonSchema;
use serde::Serialize;
use tempfile::NamedTempFile;

use crate::call::{BodyChunks, Call, RouteResult, json};
use crate::codes::Code;
use crate::problem::ApiProblem;
use crate::state::on_blocking_thread;

/// Most files of one request.
const FILES_MAX: usize = 100;

/// Longest name of a file in bytes.
const NAME_BYTES_MAX: usize = 400;

/// Most skips and notices of one answer.
const LISTED_MAX: usize = 100;

/// What became of uploaded files.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FilesAdded")]
pub(crate) struct WireFilesAdded {
    /// Items that were stored.
    stored: u64,
    /// Items that were stored already.
    unchanged: u64,
    /// Items of an earlier file of the same name that this one does not have.
    deleted: u64,
    /// Files and rows that were not read, with the reason and what to do.
    skipped: Vec<String>,
    /// What else a person should know, such as pages that need OCR.
    notices: Vec<String>,
}

impl WireFilesAdded {
    fn add(&mut self, summary: IngestSummary) {
        self.stored += summary.progress.stored;
        self.unchanged += summary.progress.unchanged;
        self.deleted += summary.deleted;
        let room = LISTED_MAX.saturating_sub(self.skipped.len());
        self.skipped.extend(summary.skips.iter().take(room).map(ToString::to_string));
        let room = LISTED_MAX.saturating_sub(self.notices.len());
        self.notices.extend(summary.into_all_remarks().into_iter().take(room));
    }
}

pub(crate) fn upload(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let viewer = call.viewer()?;
        let mut added = WireFilesAdded::default();
        if call.media_type() == "multipart/form-data" {
            upload_form(&mut call, (&workspace, &viewer), &mut added).await?;
        } else {
            let name = match call.query.get("name") {
                Some(name) => checked_name(name)?,
                None => {
                    let what = "is missing: say what the file is called, as in ?name=report.pdf";
                    return Err(ApiProblem::invalid("name", what));
                }
            };
            let most = call.state.config.limits.stream_bytes;
            let mut chunks = call.body_chunks();
            let mut file = UploadedFile::new(most)?;
            while let Some(chunk) = chunks.next().await? {
                file = file.append(chunk).await?;
            }
            read(&call, (&workspace, &viewer), (file, name), &mut added).await?;
        }
        json(StatusCode::OK, &added)
    }
    .boxed()
}

/// Reads the files of a form, one after another.
async fn upload_form(
    call: &mut Call,
    (workspace, viewer): (&Workspace, &Viewer),
    added: &mut WireFilesAdded,
) -> Result<(), ApiProblem> {
    let content_type = call.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let boundary = multer::parse_boundary(content_type.unwrap_or_default()).map_err(malformed)?;
    let most = call.state.config.limits.stream_bytes;
    let chunks = futures_util::stream::unfold(call.body_chunks(), next_chunk);
    let mut form = Multipart::new(chunks, boundary);
    let mut files = 0;
    while let Some(mut field) = form.next_field().await.map_err(malformed)? {
        let Some(name) = field.file_name() else { continue };
        files += 1;
        if files > FILES_MAX {
            let detail = format!("more than {FILES_MAX} files in one form: send several");
            return Err(ApiProblem::new(Code::TooLarge, detail));
        }
        let name = checked_name(name)?;
        let mut file = UploadedFile::new(most)?;
        while let Some(chunk) = field.chunk().await.map_err(malformed)? {
            file = file.append(chunk).await?;
        }
        drop(field);
        read(call, (workspace, viewer), (file, name), added).await?;
    }
    match files {
        0 => Err(ApiProblem::invalid("body", "has no file: send a part with a file name")),
        _ => Ok(()),
    }
}

async fn next_chunk(mut chunks: BodyChunks) -> Option<(Result<Bytes, BodyProblem>, BodyChunks)> {
    Some((chunks.next().await.map_err(BodyProblem).transpose()?, chunks))
}

/// A problem of the body, on its way through the parser of forms.
#[derive(Debug, thiserror::Error)]
#[error("the body cannot be read")]
struct BodyProblem(ApiProblem);

/// A form that cannot be parsed, or the problem of the body beneath it.
fn malformed(error: multer::Error) -> ApiProblem {
    match error {
        multer::Error::StreamReadFailed(cause) => match cause.downcast::<BodyProblem>() {
            Ok(problem) => problem.0,
            Err(cause) => ApiProblem::invalid("body", cause.to_string()),
        },
        error => ApiProblem::invalid("body", error.to_string()),
    }
}

/// The name of a file in the workspace: a relative path without `.` and `..`.
fn checked_name(name: &str) -> Result<String, ApiProblem> {
    let invalid = |what: String| Err(ApiProblem::invalid("name", what));
    let name = name.replace('\\', "/");
    if name.len() > NAME_BYTES_MAX {
        return invalid(format!("is longer than {NAME_BYTES_MAX} bytes"));
    }
    let is_plain = |part: &str| !matches!(part, "" | "." | "..");
    if !name.split('/').all(is_plain) || name.chars().any(char::is_control) {
        return invalid(format!("{name:?} is not a relative path: use one such as docs/plan.pdf"));
    }
    Ok(name)
}

/// A file that arrives.
struct UploadedFile {
    file: NamedTempFile,
    bytes: u64,
    bytes_max: u64,
}

impl UploadedFile {
    fn new(bytes_max: u64) -> Result<UploadedFile, ApiProblem> {
        let file = NamedTempFile::new().map_err(|error| not_kept(&error))?;
        Ok(UploadedFile { file, bytes: 0, bytes_max })
    }

    async fn append(mut self, chunk: Bytes) -> Result<UploadedFile, ApiProblem> {
        self.bytes += chunk.len() as u64;
        if self.bytes > self.bytes_max {
            let detail = format!("the file is longer than {} bytes", self.bytes_max);
            return Err(ApiProblem::new(Code::TooLarge, detail));
        }
        on_blocking_thread(move || {
            self.file.write_all(&chunk).map_err(|error| not_kept(&error))?;
            Ok(self)
        })
        .await?
    }
}

fn not_kept(error: &std::io::Error) -> ApiProblem {
    ApiProblem::new(Code::StorageFull, format!("the file cannot be kept while it is read: {error}"))
}

fn not_added(error: IngestError) -> ApiProblem {
    match error {
        IngestError::Read(error) => haversack::Error::from(error).into(),
        IngestError::Write(error) => haversack::Error::from(error).into(),
        error => ApiProblem::new(Code::Internal, error.to_string()),
    }
}

/// Reads an uploaded file into the workspace, with the caller's rights.
async fn read(
    call: &Call,
    (workspace, viewer): (&Workspace, &Viewer),
    (file, name): (UploadedFile, String),
    added: &mut WireFilesAdded,
) -> Result<(), ApiProblem> {
    let now = workspace.now();
    let request = IngestRequest {
        prune: true,
        reader_program: call.state.engine.reader_program().map(Path::to_owned),
        viewer: viewer.clone(),
        ..IngestRequest::new(Vec::new(), now, &format!("upload-{}", now.as_millis()))
    };
    let store = workspace.blocking_store().clone();
    let work = move || add_file(&*store, (file.file.path(), &name), &request);
    let summary = on_blocking_thread(work).await?.map_err(not_added)?;
    call.state.metrics.note_stored(summary.progress.stored);
    added.add(summary);
    Ok(())
}
