//! A bound on memory that is the same for every file: hostile ones declare boxes of any size. Past it the program ends with a message
//! instead of dying of the kernel's hand, which would take its whole container along.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

pub const MOST: usize = 512 * 1024 * 1024;
const EXIT_CODE: i32 = 3;

pub struct Bounded(AtomicUsize);

impl Bounded {
    pub const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    fn take(&self, bytes: usize) {
        if self.0.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > MOST {
            end();
        }
    }

    fn give_back(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

unsafe extern "C" {
    fn write(file: i32, text: *const u8, length: usize) -> isize;
    fn _exit(code: i32) -> !;
}

/// Nothing in here may allocate.
fn end() -> ! {
    const TEXT: &str = "the check of this file needs more than the 512 MB of memory that it may take\n";
    unsafe {
        write(2, TEXT.as_ptr(), TEXT.len());
        _exit(EXIT_CODE)
    }
}

fn checked(place: *mut u8) -> *mut u8 {
    if place.is_null() {
        end();
    }
    place
}

// SAFETY: everything is handed on to the system's allocator, and only counted here.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.take(layout.size());
        checked(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.take(layout.size());
        checked(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        self.give_back(layout.size());
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.take(size);
        self.give_back(layout.size());
        checked(unsafe { System.realloc(place, layout, size) })
    }
}
