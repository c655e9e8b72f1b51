"""Who a caller is."""

import time

from support import NodeTest

from labpve import tickets

SECRET = "11111111-2222-3333-4444-555555555555"


class TicketsTest(NodeTest):
    def setUp(self):
        super().setUp()
        tickets.make_key()

    def log_in(self, **parameters):
        return tickets.log_in({"username": "root@pam", "password": "lab-root-pw", **parameters})

    def cookie(self, granted, csrf=True):
        token = {"CSRFPreventionToken": granted["CSRFPreventionToken"]} if csrf else {}
        return {"Cookie": f"PVEAuthCookie={granted['ticket']}", **token}

    def assert_unknown(self, message, headers, method="GET"):
        self.assert_refused(lambda: tickets.identify(headers, method), message, 401)

    def test_a_ticket_identifies(self):
        self.assertEqual(tickets.identify(self.cookie(self.log_in()), "POST"), "root@pam")

    def test_the_realm_may_stand_apart(self):
        self.assertEqual(self.log_in(username="root", realm="pam")["username"], "root@pam")

    def test_a_wrong_password_is_refused(self):
        self.assert_refused(lambda: self.log_in(password="wrong"), "authentication failure", 401)
        self.assert_refused(lambda: self.log_in(username="nobody@pam"), "authentication failure", 401)

    def test_a_ticket_renews_itself(self):
        renewed = self.log_in(password=self.log_in()["ticket"])
        self.assertEqual(tickets.identify(self.cookie(renewed), "GET"), "root@pam")

    def test_a_ticket_of_another_user_does_not(self):
        ticket = tickets.issue("audit@pve")["ticket"]
        self.assert_refused(lambda: self.log_in(password=ticket), "authentication failure", 401)

    def test_an_old_ticket_is_refused(self):
        old = tickets.issue("root@pam", now=time.time() - 7201)
        self.assert_unknown("permission denied - invalid PVE ticket", self.cookie(old))

    def test_a_changed_ticket_is_refused(self):
        granted = self.log_in()
        forged = {**granted, "ticket": granted["ticket"].replace("root@pam", "r00t@pam")}
        self.assert_unknown("permission denied - invalid PVE ticket", self.cookie(forged))

    def test_writing_needs_the_token_against_forged_requests(self):
        granted = self.log_in()
        self.assert_unknown("Permission denied - invalid csrf token", self.cookie(granted, csrf=False), "PUT")
        other = {**granted, **{"CSRFPreventionToken": tickets.issue("audit@pve")["CSRFPreventionToken"]}}
        self.assert_unknown("Permission denied - invalid csrf token", self.cookie(other), "DELETE")

    def test_nothing_is_refused(self):
        self.assert_unknown("No ticket", {})

    def test_a_token_identifies_without_more(self):
        headers = {"Authorization": f"PVEAPIToken=root@pam!iac={SECRET}"}
        self.assertEqual(tickets.identify(headers, "DELETE"), "root@pam!iac")

    def test_unknown_and_wrong_tokens_are_refused(self):
        self.assert_unknown(
            "no such token 'x' for user 'root@pam'", {"Authorization": "PVEAPIToken=root@pam!x=1"}
        )
        self.assert_unknown("invalid token value!", {"Authorization": "PVEAPIToken=root@pam!iac=1"})
