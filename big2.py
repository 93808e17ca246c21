exec(open('/tmp/s60/py/t1.py').read())
