import { sumTraffic } from "../../bench/traffic";

test("a connection is a SYN to port 22; payloads are added up by direction", () => {
  const lines = [
    "12:00:00.1 IP 10.80.1.1.51000 > 10.80.1.5.22: Flags [S], seq 1, win 64240, options [mss 1460,sackOK], length 0",
    "12:00:00.2 IP 10.80.1.5.22 > 10.80.1.1.51000: Flags [S.], seq 1, ack 2, win 65160, length 0",
    "12:00:00.3 IP 10.80.1.1.51000 > 10.80.1.5.22: Flags [P.], seq 1:41, ack 1, win 502, length 40: SSH: SSH-2.0-OpenSSH_9.2",
    "12:00:00.4 IP 10.80.1.5.22 > 10.80.1.1.51000: Flags [P.], seq 1:1081, ack 41, win 509, length 1080",
    "12:00:01.0 ARP, Request who-has 10.80.1.5 tell 10.80.1.1, length 28",
  ];
  expect(sumTraffic(lines.join("\n"))).toEqual({ connections: 1, sent: 40, received: 1080 });
});
