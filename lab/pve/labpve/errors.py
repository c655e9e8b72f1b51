"""The one exception of the lab's Proxmox VE, with the code and message a client of the real one sees."""


class PveError(Exception):
    """A refusal or failure.

    message: one sentence; the HTTP status line, the task result or the command's error text.
    code: HTTP status (default 500, as for Proxmox VE's plain `die`).
    errors: parameter name -> message, for code 400.
    """

    def __init__(self, message, code=500, errors=None):
        super().__init__(message)
        self.message = message
        self.code = code
        self.errors = errors or {}


def parameter_error(errors):
    """The 400 of Proxmox VE's parameter check; `errors` maps parameter names to messages."""
    return PveError("Parameter verification failed.", 400, errors)


def permission_error(reason=""):
    """The 403 of Proxmox VE, with or without a reason in parentheses."""
    return PveError("Permission check failed" + (f" ({reason})" if reason else ""), 403)
