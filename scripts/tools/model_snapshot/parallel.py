"""Work on many files at once."""

import concurrent.futures

WORKERS = 8


def in_parallel(work, items, stopped=None):
    """Results of work for every item as they come; the first failure stops what has not begun, and is raised."""
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            for future in concurrent.futures.as_completed(futures):
                yield future.result()
        except BaseException:
            if stopped:
                stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
