//! Bounds the bytes that requests hold at once, over the whole server: bodies, and what they become when
//! they are read as JSON. The bytes are counted before they are taken.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::codes::Code;
use crate::problem::ApiProblem;

/// The bytes that all requests may hold.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    used: AtomicUsize,
    most: usize,
}

/// The bytes that one request holds. Dropping it gives them back.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    budget: Arc<MemoryBudget>,
    bytes: usize,
}

impl MemoryBudget {
    pub(crate) fn new(most: usize) -> Arc<MemoryBudget> {
        Arc::new(MemoryBudget { used: AtomicUsize::new(0), most })
    }

    /// Begins to count for one request.
    pub(crate) fn hold(self: &Arc<MemoryBudget>) -> HeldBytes {
        HeldBytes { budget: Arc::clone(self), bytes: 0 }
    }
}

impl HeldBytes {
    /// Takes more bytes.
    ///
    /// # Errors
    /// When all requests together would hold more than the limit.
    pub(crate) fn grow(&mut self, more: usize) -> Result<(), ApiProblem> {
        let MemoryBudget { used, most } = &*self.budget;
        let fits = |used: usize| used.checked_add(more).filter(|sum| sum <= most);
        match used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits) {
            Ok(_) => {
                self.bytes += more;
                Ok(())
            }
            Err(_) if self.bytes.saturating_add(more) > *most => {
                let detail = format!(
                    "this body needs more memory than all requests together may use, {most} bytes: \
                     send it in parts, or raise limits.memory_bytes"
                );
                Err(ApiProblem::new(Code::TooLarge, detail))
            }
            Err(_) => {
                let detail = format!(
                    "the requests in flight hold nearly {most} bytes, the limit: try again soon"
                );
                Err(ApiProblem::new(Code::Overloaded, detail))
            }
        }
    }

    /// Holds exactly this many bytes from now on.
    ///
    /// # Errors
    /// As [`HeldBytes::grow`].
    pub(crate) fn resize(&mut self, bytes: usize) -> Result<(), ApiProblem> {
        if let Some(more) = bytes.checked_sub(self.bytes) {
            return self.grow(more);
        }
        self.budget.used.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_requests_share_the_bytes_and_give_them_back() {
        let budget = MemoryBudget::new(100);
        let (mut first, mut second) = (budget.hold(), budget.hold());
        first.grow(60).unwrap();
        assert_eq!(second.grow(41).unwrap_err().code, Code::Overloaded, "one over the limit");
        second.grow(40).unwrap();
        first.resize(10).unwrap();
        second.resize(90).unwrap();
        assert_eq!(second.grow(11).unwrap_err().code, Code::TooLarge, "it would not fit alone");
        drop(second);
        first.resize(100).unwrap();
        drop(first);
        assert_eq!(budget.used.load(Ordering::Relaxed), 0);
    }
}
