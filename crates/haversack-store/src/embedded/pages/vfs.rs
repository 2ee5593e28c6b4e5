//! The layer between SQLite and the system's files that writes and verifies checksums.
//!
//! SQLite calls a file system through tables of C functions. This layer passes each call on to the
//! system's own, and looks at the bytes of pages on their way. It is the one place with unsafe
//! code in this crate.
#![expect(unsafe_code, reason = "SQLite's interface to files is a table of C functions")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::size_of;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;

use rusqlite::{Connection, MAIN_DB, ffi};

use super::log::{FRAME_HEADER_BYTES, FramePart, LOG_HEADER_BYTES, LogHeader};
use super::scrub::clear_unallocated;
use super::{
    PageFormat, RESERVED_AT, RESERVED_BYTES, is_intact, is_page_size, record_damage, stamp,
};
#[cfg(test)]
use crate::embedded::faults::{Unsynced, note_change, note_remove, note_sync};
use crate::embedded::steps::{Step, before};

/// The name by which SQLite knows the layer.
const NAME: &CStr = c"haversack";

/// An open file as SQLite sees it. The system's own file follows it in memory.
#[repr(C)]
struct CheckedFile {
    base: ffi::sqlite3_file,
    state: *mut FileState,
}

/// What is known of an open file.
#[derive(Debug)]
struct FileState {
    /// Empty for a temporary file.
    path: String,
    kind: FileKind,
    /// The page that is being written, with its checksum.
    stamped: Vec<u8>,
}

#[derive(Debug)]
enum FileKind {
    Main(PageFormat),
    Log(LogState),
    /// Journals and temporary files, which are never read after they were damaged unnoticed: they
    /// carry checksums of their own, or end with the process.
    Other,
}

/// What is known of an open log.
#[derive(Debug, Default)]
struct LogState {
    header: Option<LogHeader>,
    /// The frame whose header this connection wrote last.
    written: Option<u64>,
    /// From this frame on, this connection changed pages without their checksums, because its
    /// transaction is not complete. SQLite writes the checksums when it is.
    changed_from: Option<u64>,
}

/// Makes the layer known to SQLite, once; returns its name.
pub(super) fn register() -> rusqlite::Result<&'static CStr> {
    static REGISTERED: OnceLock<c_int> = OnceLock::new();
    let code = *REGISTERED.get_or_init(|| {
        // SAFETY: a null name asks for the default; the result lives as long as the process.
        let Some(system) = (unsafe { ffi::sqlite3_vfs_find(ptr::null()).as_ref() }) else {
            return ffi::SQLITE_ERROR;
        };
        let layer = Box::leak(Box::new(layer_over(system)));
        // SAFETY: the layer is complete, and leaked, so that it is never moved or freed.
        unsafe { ffi::sqlite3_vfs_register(layer, 0) }
    });
    if code == ffi::SQLITE_OK { Ok(NAME) } else { Err(sqlite_error(code)) }
}

/// Sets the bytes that SQLite reserves at the end of pages, or only asks for them.
pub(super) fn reserve_bytes(connection: &Connection, bytes: Option<u8>) -> rusqlite::Result<u8> {
    let mut value = bytes.map_or(-1, c_int::from);
    // SAFETY: the handle is open as long as the borrowed connection, and this operation takes a
    // pointer to a number that it replaces.
    let code = unsafe {
        let value = (&raw mut value).cast::<c_void>();
        let handle = connection.handle();
        ffi::sqlite3_file_control(handle, MAIN_DB.as_ptr(), ffi::SQLITE_FCNTL_RESERVE_BYTES, value)
    };
    if code != ffi::SQLITE_OK {
        return Err(sqlite_error(code));
    }
    Ok(u8::try_from(value).unwrap_or(0))
}

fn sqlite_error(code: c_int) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
}

fn layer_over(system: &'static ffi::sqlite3_vfs) -> ffi::sqlite3_vfs {
    ffi::sqlite3_vfs {
        // The first version has all that is needed; the others add times and system calls.
        iVersion: 1,
        szOsFile: c_int::try_from(size_of::<CheckedFile>()).unwrap_or(c_int::MAX) + system.szOsFile,
        mxPathname: system.mxPathname,
        pNext: ptr::null_mut(),
        zName: NAME.as_ptr(),
        pAppData: ptr::from_ref(system).cast_mut().cast(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_pathname),
        // Extensions are never loaded.
        xDlOpen: None,
        xDlError: None,
        xDlSym: None,
        xDlClose: None,
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: Some(current_time),
        xGetLastError: Some(get_last_error),
        xCurrentTimeInt64: None,
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    }
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    // Without the third version, SQLite maps no file into memory.
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// Calls a function of the system's file system.
macro_rules! system_vfs {
    ($vfs:expr, $method:ident, $($argument:expr),*) => {{
        // SAFETY: SQLite passes the layer that `register` gave it, whose data is the system's file
        // system, which lives as long as the process. The arguments are SQLite's own.
        unsafe {
            let system: *mut ffi::sqlite3_vfs = (*$vfs).pAppData.cast();
            match (*system).$method {
                Some(method) => method(system, $($argument),*),
                None => ffi::SQLITE_ERROR,
            }
        }
    }};
}

/// Calls a function of the system's file.
macro_rules! system_file {
    ($file:expr, $method:ident $(, $argument:expr)*) => {{
        let file = system_file($file);
        // SAFETY: the file was opened by `open`, and is closed by `close` alone. The arguments are
        // SQLite's own, or a buffer of the length that is given.
        unsafe {
            match (*file).pMethods.as_ref().and_then(|methods| methods.$method) {
                Some(method) => method(file $(, $argument)*),
                None => ffi::SQLITE_IOERR,
            }
        }
    }};
}

/// The system's file, which follows ours in memory.
fn system_file(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: SQLite allocates `szOsFile` bytes, enough for both.
    unsafe { file.cast::<CheckedFile>().add(1).cast() }
}

/// What is known of an open file.
fn state<'a>(file: *mut ffi::sqlite3_file) -> &'a mut FileState {
    // SAFETY: `open` set the pointer, and `close` is the last call for a file. SQLite uses a file
    // from one thread at a time.
    unsafe { &mut *(*file.cast::<CheckedFile>()).state }
}

extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SAFETY: `file` points to `szOsFile` bytes for us to fill. Without methods SQLite does not
    // close a file that could not be opened.
    unsafe {
        (*file).pMethods = ptr::null();
        (*system_file(file)).pMethods = ptr::null();
    }
    // SAFETY: a name is null, for a temporary file, or ends with a zero byte.
    let path = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
    let path = path.to_string_lossy().into_owned();
    if before(Step::Open, Path::new(&path)).is_err() {
        return ffi::SQLITE_CANTOPEN;
    }
    let code = system_vfs!(vfs, xOpen, name, system_file(file), flags, flags_out);
    if code != ffi::SQLITE_OK {
        close_system_file(file);
        return code;
    }
    let kind = if flags & ffi::SQLITE_OPEN_MAIN_DB != 0 {
        match beginning_of(file) {
            Ok(beginning) => FileKind::Main(PageFormat::detect(&beginning)),
            Err(code) => {
                close_system_file(file);
                return code;
            }
        }
    } else if flags & ffi::SQLITE_OPEN_WAL != 0 {
        FileKind::Log(LogState::default())
    } else {
        FileKind::Other
    };
    let state = Box::into_raw(Box::new(FileState { path, kind, stamped: Vec::new() }));
    // SAFETY: as above.
    unsafe {
        (*file.cast::<CheckedFile>()).state = state;
        (*file).pMethods = &raw const METHODS;
    }
    ffi::SQLITE_OK
}

/// Closes the system's file if it is open: an opening that fails may leave it so.
fn close_system_file(file: *mut ffi::sqlite3_file) {
    // SAFETY: `open` cleared the methods, so they are null or those of the system.
    let is_open = unsafe { !(*system_file(file)).pMethods.is_null() };
    if is_open {
        // There is nothing to do about a failure.
        let _ = system_file!(file, xClose);
    }
}

/// The beginning of a file: enough to recognise its pages.
fn beginning_of(file: *mut ffi::sqlite3_file) -> Result<Vec<u8>, c_int> {
    let mut size = 0;
    let code = system_file!(file, xFileSize, &raw mut size);
    if code != ffi::SQLITE_OK {
        return Err(code);
    }
    let length = usize::try_from(size).unwrap_or(usize::MAX).min(*super::PAGE_SIZES.end());
    let mut beginning = vec![0; length];
    read_system(file, &mut beginning, 0).map(|()| beginning)
}

/// Reads bytes from the system's file.
fn read_system(file: *mut ffi::sqlite3_file, bytes: &mut [u8], offset: i64) -> Result<(), c_int> {
    let amount = c_int::try_from(bytes.len()).map_err(|_| ffi::SQLITE_IOERR)?;
    match system_file!(file, xRead, bytes.as_mut_ptr().cast(), amount, offset) {
        ffi::SQLITE_OK => Ok(()),
        code => Err(code),
    }
}

extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    let code = system_file!(file, xClose);
    // SAFETY: `open` made the state from a box, and nobody uses the file any more.
    drop(unsafe { Box::from_raw((*file.cast::<CheckedFile>()).state) });
    code
}

extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    buffer: *mut c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    let state = state(file);
    if before(Step::Read, Path::new(&state.path)).is_err() {
        return ffi::SQLITE_IOERR_READ;
    }
    let code = system_file!(file, xRead, buffer, amount, offset);
    let (Ok(length), Ok(start)) = (usize::try_from(amount), u64::try_from(offset)) else {
        return code;
    };
    let whole = match code {
        ffi::SQLITE_OK => true,
        ffi::SQLITE_IOERR_SHORT_READ => false,
        code => return code,
    };
    // SAFETY: SQLite passes a buffer of this many bytes, which the system filled.
    let bytes = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), length) };
    let sound = match &mut state.kind {
        FileKind::Main(PageFormat::Checked(size)) if length == *size => {
            let number = start / *size as u64;
            (whole && is_intact(bytes, number)) || damaged(&state.path, "page", number + 1)
        }
        FileKind::Log(log) if whole => match log.is_intact(file, bytes, start) {
            Ok(frame) => frame.is_none_or(|frame| damaged(&state.path, "frame", frame + 1)),
            Err(code) => return code,
        },
        _ => return code,
    };
    if sound { code } else { ffi::SQLITE_CORRUPT }
}

/// Notes damage for the error that follows. Always false.
fn damaged(path: &str, part: &str, number: u64) -> bool {
    let name = path.rsplit(std::path::MAIN_SEPARATOR).next().unwrap_or(path);
    record_damage(format!("{part} {number} of {name}"));
    false
}

impl LogState {
    /// Verifies a page that was read; returns the number of its frame, from 0, if it is damaged.
    fn is_intact(
        &mut self,
        file: *mut ffi::sqlite3_file,
        page: &[u8],
        offset: u64,
    ) -> Result<Option<u64>, c_int> {
        let Some(header) = self.header(file)?.filter(|header| header.page_size == page.len())
        else {
            return Ok(None);
        };
        let Some(frame) = header.frame_at(offset, FramePart::Page) else { return Ok(None) };
        if self.changed_from.is_some_and(|first| first <= frame) {
            return Ok(None);
        }
        let read_header = |frame: u64| {
            let mut bytes = [0; FRAME_HEADER_BYTES];
            let offset = i64::try_from(header.offset_of(frame)).map_err(|_| ffi::SQLITE_IOERR)?;
            read_system(file, &mut bytes, offset).map(|()| bytes)
        };
        let before = frame.checked_sub(1).map(read_header).transpose()?;
        if header.is_intact(before.as_ref(), &read_header(frame)?, page) {
            return Ok(None);
        }
        // Another connection may have begun the log anew since this one read its header.
        self.header = None;
        let sound = match self.header(file)?.filter(|header| header.page_size == page.len()) {
            Some(header) => header.is_intact(before.as_ref(), &read_header(frame)?, page),
            None => false,
        };
        Ok(if sound { None } else { Some(frame) })
    }

    /// The header of the log, read once; `None` while there is none.
    fn header(&mut self, file: *mut ffi::sqlite3_file) -> Result<Option<LogHeader>, c_int> {
        if self.header.is_none() {
            let mut bytes = [0; LOG_HEADER_BYTES];
            match read_system(file, &mut bytes, 0) {
                Ok(()) => self.header = LogHeader::parse(&bytes),
                Err(ffi::SQLITE_IOERR_SHORT_READ) => {}
                Err(code) => return Err(code),
            }
        }
        Ok(self.header)
    }

    /// Follows what is written, to know which frames have no checksum yet.
    fn follow_write(&mut self, file: *mut ffi::sqlite3_file, bytes: &[u8], offset: u64) {
        if offset == 0 {
            let header = bytes.first_chunk().and_then(LogHeader::parse);
            *self = LogState { header, ..LogState::default() };
            return;
        }
        // If it cannot be read, no page can be verified, either.
        let Ok(Some(header)) = self.header(file) else { return };
        if bytes.len() == FRAME_HEADER_BYTES {
            let Some(frame) = header.frame_at(offset, FramePart::Header) else { return };
            self.written = Some(frame);
            if self.changed_from == Some(frame) {
                self.changed_from = Some(frame + 1);
            }
        } else if let Some(frame) = header.frame_at(offset, FramePart::Page)
            && self.written != Some(frame)
        {
            let first = self.changed_from.map_or(frame, |first| first.min(frame));
            self.changed_from = Some(first);
        }
    }
}

extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    buffer: *const c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    let FileState { kind, stamped, path } = state(file);
    let (Ok(length), Ok(start)) = (usize::try_from(amount), u64::try_from(offset)) else {
        return ffi::SQLITE_IOERR_WRITE;
    };
    // SAFETY: SQLite passes a buffer of this many bytes.
    let mut bytes = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), length) };
    match kind {
        FileKind::Main(format) => {
            if *format == PageFormat::New && is_page_size(length) && start % length as u64 == 0 {
                let reserved = start > 0 || bytes[RESERVED_AT] == RESERVED_BYTES;
                *format = if reserved { PageFormat::Checked(length) } else { PageFormat::Plain };
            }
            if *format == PageFormat::Checked(length) {
                stamped.clear();
                stamped.extend_from_slice(bytes);
                clear_unallocated(stamped, start / length as u64);
                stamp(stamped, start / length as u64);
                bytes = stamped;
            }
        }
        FileKind::Log(log) => log.follow_write(file, bytes, start),
        FileKind::Other => {}
    }
    write_system(file, Path::new(path), bytes, offset)
}

/// Writes bytes to the system's file.
fn write_system(file: *mut ffi::sqlite3_file, path: &Path, bytes: &[u8], offset: i64) -> c_int {
    let put = |bytes: &[u8]| match c_int::try_from(bytes.len()) {
        Ok(amount) => system_file!(file, xWrite, bytes.as_ptr().cast(), amount, offset),
        Err(_) => ffi::SQLITE_IOERR_WRITE,
    };
    if let Err(error) = before(Step::Write, path) {
        if error.kind() == std::io::ErrorKind::StorageFull {
            return ffi::SQLITE_FULL;
        }
        // As a disk does that fails in the middle.
        #[cfg(test)]
        put(&bytes[..bytes.len() / 2]);
        return ffi::SQLITE_IOERR_WRITE;
    }
    #[cfg(test)]
    note_change(path, Unsynced::Write(offset.unsigned_abs(), bytes.to_vec()));
    put(bytes)
}

extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    let path = Path::new(&state(file).path);
    if before(Step::Truncate, path).is_err() {
        return ffi::SQLITE_IOERR_TRUNCATE;
    }
    #[cfg(test)]
    note_change(path, Unsynced::Truncate(size.unsigned_abs()));
    system_file!(file, xTruncate, size)
}

extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    let path = Path::new(&state(file).path);
    if before(Step::Sync, path).is_err() {
        return ffi::SQLITE_IOERR_FSYNC;
    }
    let code = system_file!(file, xSync, flags);
    #[cfg(test)]
    note_sync(path);
    code
}

extern "C" fn file_size(file: *mut ffi::sqlite3_file, size: *mut i64) -> c_int {
    system_file!(file, xFileSize, size)
}

extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    system_file!(file, xLock, level)
}

extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    system_file!(file, xUnlock, level)
}

extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, found: *mut c_int) -> c_int {
    system_file!(file, xCheckReservedLock, found)
}

extern "C" fn file_control(
    file: *mut ffi::sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    // The system would answer reads from a mapping, past every error.
    if operation == ffi::SQLITE_FCNTL_MMAP_SIZE {
        return ffi::SQLITE_NOTFOUND;
    }
    system_file!(file, xFileControl, operation, argument)
}

extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    system_file!(file, xSectorSize)
}

extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // Otherwise SQLite reads parts of overflow pages, which cannot be verified.
    system_file!(file, xDeviceCharacteristics) & !ffi::SQLITE_IOCAP_SUBPAGE_READ
}

extern "C" fn shm_map(
    file: *mut ffi::sqlite3_file,
    region: c_int,
    size: c_int,
    extend: c_int,
    memory: *mut *mut c_void,
) -> c_int {
    system_file!(file, xShmMap, region, size, extend, memory)
}

extern "C" fn shm_lock(
    file: *mut ffi::sqlite3_file,
    offset: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    system_file!(file, xShmLock, offset, count, flags)
}

extern "C" fn shm_barrier(file: *mut ffi::sqlite3_file) {
    let file = system_file(file);
    // SAFETY: as in `system_file!`.
    unsafe {
        if let Some(barrier) = (*file).pMethods.as_ref().and_then(|methods| methods.xShmBarrier) {
            barrier(file);
        }
    }
}

extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, delete: c_int) -> c_int {
    system_file!(file, xShmUnmap, delete)
}

extern "C" fn delete(vfs: *mut ffi::sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    // SAFETY: a name ends with a zero byte.
    let path = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    if before(Step::Remove, Path::new(&*path)).is_err() {
        return ffi::SQLITE_IOERR_DELETE;
    }
    #[cfg(test)]
    note_remove(Path::new(&*path));
    system_vfs!(vfs, xDelete, name, sync)
}

extern "C" fn access(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    found: *mut c_int,
) -> c_int {
    system_vfs!(vfs, xAccess, name, flags, found)
}

extern "C" fn full_pathname(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    length: c_int,
    out: *mut c_char,
) -> c_int {
    system_vfs!(vfs, xFullPathname, name, length, out)
}

extern "C" fn randomness(vfs: *mut ffi::sqlite3_vfs, length: c_int, out: *mut c_char) -> c_int {
    system_vfs!(vfs, xRandomness, length, out)
}

extern "C" fn sleep(vfs: *mut ffi::sqlite3_vfs, microseconds: c_int) -> c_int {
    system_vfs!(vfs, xSleep, microseconds)
}

extern "C" fn current_time(vfs: *mut ffi::sqlite3_vfs, out: *mut f64) -> c_int {
    system_vfs!(vfs, xCurrentTime, out)
}

extern "C" fn get_last_error(vfs: *mut ffi::sqlite3_vfs, length: c_int, out: *mut c_char) -> c_int {
    system_vfs!(vfs, xGetLastError, length, out)
}
