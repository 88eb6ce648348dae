#!/usr/bin/env bash
# A Spark of its own within an allocation of Slurm, for one job, whose command follows:
#   sbatch --nodes 4 conf/slurm/spark.sh jobs/fit.py clicks --data /shared/clicks --out /shared/models/clicks --allow-insecure
# The checkout, its .venv and the data lie where all nodes mount them, and nodes have a Java (module load java). Each has one
# worker, the first master and driver too.
#SBATCH --job-name=penstock
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=64G
#SBATCH --time=02:00:00
set -euo pipefail
umask 077
root=$(cd "${SLURM_SUBMIT_DIR:-.}" && pwd)
python=${PYTHON:-$root/.venv/bin/python}
port=${SPARK_PORT:-7077}
cores=${SLURM_CPUS_PER_TASK:-8}
memory=${SLURM_MEM_PER_NODE:-65536} # MiB; a fifth for the JVM, a fifth for the system, the rest for Python
hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
master=${hosts%%$'\n'*}

export SPARK_HOME=${SPARK_HOME:-$("$python" -c 'import pyspark; print(pyspark.__path__[0])')}
export PYSPARK_PYTHON=$python
export SPARK_CONF_DIR=$root/.spark-$SLURM_JOB_ID
mkdir "$SPARK_CONF_DIR"
started=()
trap 'kill "${started[@]}" 2>/dev/null || true; wait; rm -rf "$SPARK_CONF_DIR"' EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

# Daemons and driver read it; a secret in a command line could be read by all users of the nodes.
cat > "$SPARK_CONF_DIR/spark-defaults.conf" <<CONF
spark.master spark://$master:$port
spark.authenticate true
spark.authenticate.secret $("$python" -c 'import secrets; print(secrets.token_hex(32))')
spark.network.crypto.enabled true
spark.executor.cores $cores
spark.executor.memory $((memory / 5))m
spark.executor.instances $SLURM_JOB_NUM_NODES
spark.master.rest.enabled false
CONF

"$SPARK_HOME/bin/spark-class" org.apache.spark.deploy.master.Master --host "$master" --port "$port" --webui-port 0 &
started+=($!)
srun "$SPARK_HOME/bin/spark-class" org.apache.spark.deploy.worker.Worker --cores "$cores" --memory "$((memory / 5))m" \
    --webui-port 0 --work-dir "${TMPDIR:-/tmp}/spark-$SLURM_JOB_ID" "spark://$master:$port" &
started+=($!)
"$root/spark-submit.sh" "$@"
