"""A real FTP server: ftp_server.py HOST FOLDER USER PASSWORD MAX_PER_IP [COMMAND...], without these commands.
MAX_PER_IP 0: no limit. Prints its port once it listens."""
import sys
from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler
from pyftpdlib.servers import FTPServer

host, folder, user, password = sys.argv[1:5]
authorizer = DummyAuthorizer()
authorizer.add_user(user, password, folder)
authorizer.add_anonymous(folder)
FTPHandler.authorizer = authorizer
for command in sys.argv[6:]:
    del FTPHandler.proto_cmds[command]
server = FTPServer((host, 0), FTPHandler)
server.max_cons_per_ip = int(sys.argv[5])
print(server.address[1], flush=True)
server.serve_forever()
