/** What the tests use of ssh2, which comes without types. */
declare module "ssh2" {
  export const utils: {
    /** A new key pair in OpenSSH's formats. */
    generateKeyPairSync(type: "ed25519"): { private: string; public: string };
  };
}
